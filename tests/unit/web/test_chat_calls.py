"""What the head of a request says of it."""

import re

from anvil_trio.decisions.builder import CallerIds
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.web.auth import Principal
from anvil_trio.web.chat import call_of

WHO = Principal(LEGACY_CLIENT, frozenset())


def test_no_two_requests_have_the_same_id():
    """`call_of`: 128 random bits each, also where they were drawn for many requests at once."""
    ids = [call_of(WHO, CHAT, {}).gateway_request_id for _ in range(1000)]
    assert all(re.fullmatch(r"req_[0-9a-f]{32}", each) for each in ids)
    assert len({each[4 + at : 12 + at] for each in ids for at in (0, 8, 16, 24)}) > 3990


def test_a_callers_ids_are_the_first_of_their_names_if_they_are_safe():
    """`call_of`: one name before the other, even where its value is not safe and the other's is."""
    first = {
        b"request-id": b"second",
        b"x-request-id": b" one ",
        b"x-anvil-session-id": b"not safe!",
        b"x-session-affinity": b"safe",
        b"x-anvil-task-id": b"task",
    }
    assert call_of(WHO, CHAT, first).ids == CallerIds(request_id="one", task_id="task")
    assert call_of(WHO, CHAT, {b"request-id": b"second"}).ids == CallerIds(request_id="second")
    assert call_of(WHO, CHAT, {b"x-other": b"one"}).ids == CallerIds()
