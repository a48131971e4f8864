"""Asking an engine how many tokens a request has: no lease, no record, at most two seconds.

Any of the tier's members may be asked, since all count alike. An engine that cannot count, does not
answer in time or says anything but a number leaves the caller with an estimate.
"""

from typing import Annotated

import msgspec
import trio

from anvil_trio.actors.messages import Refused
from anvil_trio.dialects.ir import MOST_TOKENS
from anvil_trio.errors import UpstreamFailed
from anvil_trio.exchange.generation import Route
from anvil_trio.exchange.house import House
from anvil_trio.exchange.relay import is_success
from anvil_trio.facts import TierPhase
from anvil_trio.names import LEGACY_CLIENT, MemberId
from anvil_trio.upstream.build import count_tokens_url, request_headers
from anvil_trio.upstream.client import open_stream
from anvil_trio.upstream.stream import End, Head, UpstreamStream

__all__ = ["count_exactly"]

_PATIENCE_S = 2.0
_MAX_ANSWER_BYTES = 65_536


class _Count(msgspec.Struct):
    input_tokens: Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


_DECODER = msgspec.json.Decoder(_Count)


async def count_exactly(house: House, route: Route, body: bytes, request_id: str) -> int | None:
    """What a ready member's own endpoint says of this Messages body, or None. Raises nothing.

    Few are asked at once: whoever finds all places of `house.counts` taken gets no answer.
    """
    place = await house.counts.enter(LEGACY_CLIENT)
    if isinstance(place, Refused):
        return None
    with place:
        member_id = await _ready_member(route)
        if member_id is None:
            return None
        answer = b""
        with trio.move_on_after(_PATIENCE_S):
            answer = await _ask(route, member_id, body, request_id)
    try:
        return _DECODER.decode(answer).input_tokens
    except (msgspec.DecodeError, RecursionError):
        return None


async def _ready_member(route: Route) -> MemberId | None:
    snapshot = await route.handle.inspect()
    if snapshot.phase is not TierPhase.ADMITTING:
        return None
    ready = [member.member_id for member in snapshot.members if member.is_eligible]
    return ready[0] if ready else None


async def _ask(route: Route, member_id: MemberId, body: bytes, request_id: str) -> bytes:
    """The engine's answer; empty if it is an error, too long or broken."""
    url = count_tokens_url(route.tier.endpoint_of(member_id))
    upstream = route.upstreams[member_id].at(url)
    headers = request_headers(route.tier.dialect, upstream.key, request_id, accept_stream=False)
    try:
        async with open_stream(upstream, body, headers) as stream:
            return await _read(stream)
    except UpstreamFailed:
        return b""


async def _read(stream: UpstreamStream) -> bytes:
    head = await stream.receive()
    assert isinstance(head, Head), "a reply begins with its head"
    answer = b""
    while not isinstance(item := await stream.receive(), End):
        assert isinstance(item, bytes), "a reply has one head"
        answer += item
        if len(answer) > _MAX_ANSWER_BYTES:
            return b""
    return answer if is_success(head) else b""
