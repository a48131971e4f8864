"""The values that pass between dialects keep what they hold to themselves."""

import msgspec

from anvil_trio.dialects.chat_messages import MESSAGES, facts_of
from anvil_trio.dialects.ir import RenderedReply, RenderedRequest, Usage
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Problem


def test_nothing_of_a_request_or_a_reply_is_shown():
    """R012: a value that ends in a log or a traceback there is nothing but its name."""
    body = msgspec.json.encode({
        "model": "kanarie",
        "messages": [{"role": "user", "content": "kanarie"}],
    })
    asked = CHAT.parse_request(body)
    assert not isinstance(asked, Problem)
    shown = [
        repr(asked),
        repr(asked.prompt),
        repr(facts_of(MESSAGES.decode(asked.fields["messages"]))),
        repr(RenderedRequest(body)),
        repr(RenderedReply(body, None, Usage())),
    ]
    assert shown == [
        "ChatRequest()",
        "Prompt()",
        "Facts()",
        "RenderedRequest()",
        "RenderedReply()",
    ]
