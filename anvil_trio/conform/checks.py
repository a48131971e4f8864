"""The checks of a gateway, one table for each dialect; each asks and has its answer judged.

The stream, the plain answer and what follows are asked once and kept: a check looks at what a
check before it received where the same request would be made again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from anvil_trio.conform.asking import Asker
from anvil_trio.conform.grammar import JsonObject
from anvil_trio.conform.judges import (
    has_no_such_dialect,
    judge_beats,
    judge_call,
    judge_counts,
    judge_left,
    judge_limit,
    judge_method,
    judge_plain,
    judge_refusal,
    judge_stream,
)
from anvil_trio.conform.reply import Reply
from anvil_trio.conform.running import Check
from anvil_trio.conform.verdict import Verdict, failed, not_applicable, passed
from anvil_trio.conform.voices import CHAT, VOICES, Ask, Voice

__all__ = ["GATEWAY_CHECKS", "Gateway"]

_HELLO = "Say hello in one short sentence."
_STORY = "Please count forever, one number after the other, and never stop."
_WEATHER = "What is the weather in Rome? Use the tool."
_WRONG_MODEL = "no-such-model-anvil-conform"
_WRONG_KEY = "wrong-key-anvil-conform"
_SHORT = {"chat": 4, "messages": 4, "responses": 16}  # 16 is the least that OpenAI takes there
_STREAMS_LEFT = 8
_LONG = 2048
_OVERSIZE_BYTES = 40 * 1024 * 1024
_LIMIT_FIELDS = {"chat": "max_tokens", "messages": "max_tokens", "responses": "max_output_tokens"}


@dataclass(slots=True)
class Gateway:
    """A gateway under test: how it is asked, and what was seen of it so far."""

    asker: Asker
    spoken: set[str] = field(default_factory=set)
    streams: dict[str, Reply] = field(default_factory=dict)

    def body(self, voice: Voice, ask: Ask, *, model: str | None = None) -> JsonObject:
        """A request's fields."""
        return voice.render(self.asker.target.model if model is None else model, ask)

    async def ask(self, voice: Voice, ask: Ask) -> Reply:
        """The answer to one request."""
        return await self.asker.ask(self.asker.post(voice, self.body(voice, ask)))


_Run = Callable[[Gateway, Voice], Awaitable[Verdict]]


async def _plain(gateway: Gateway, voice: Voice) -> Verdict:
    reply = await gateway.ask(voice, Ask(_HELLO))
    if has_no_such_dialect(reply):
        return not_applicable("Nothing answers this model in this dialect.")
    gateway.spoken.add(voice.name)
    return judge_plain(reply, voice)


async def _stream(gateway: Gateway, voice: Voice) -> Verdict:
    reply = await gateway.ask(voice, Ask(_HELLO, is_stream=True))
    gateway.streams[voice.name] = reply
    return judge_stream(reply, voice)


async def _limit(gateway: Gateway, voice: Voice) -> Verdict:
    ask = Ask(_STORY, limit=_SHORT[voice.name], is_stream=True)
    return judge_limit(await gateway.ask(voice, ask), voice)


async def _counts(gateway: Gateway, voice: Voice) -> Verdict:
    asked = await gateway.ask(voice, Ask(_HELLO, is_stream=True, wants_counts=True))
    return judge_counts(asked, gateway.streams[voice.name], voice)


async def _call(gateway: Gateway, voice: Voice) -> Verdict:
    return judge_call(
        await gateway.ask(voice, Ask(_WEATHER, is_stream=True, offers_tool=True)), voice
    )


async def _beats(gateway: Gateway, voice: Voice) -> Verdict:
    return judge_beats(gateway.streams[voice.name].body, voice)


async def _leaving(gateway: Gateway, voice: Voice) -> Verdict:
    call = gateway.asker.post(voice, gateway.body(voice, Ask(_STORY, limit=_LONG, is_stream=True)))
    left = 0
    for _ in range(_STREAMS_LEFT):
        reply = await gateway.asker.ask(call, lambda _now, _part: False)
        left += reply.is_left
    return judge_left(left, await gateway.ask(voice, Ask(_HELLO)), voice)


async def _unknown_model(gateway: Gateway, voice: Voice, *, is_stream: bool) -> Verdict:
    body = gateway.body(voice, Ask(_HELLO, is_stream=is_stream), model=_WRONG_MODEL)
    return judge_refusal(await gateway.asker.ask(gateway.asker.post(voice, body)), voice, {404})


async def _bad_field(gateway: Gateway, voice: Voice) -> Verdict:
    body = gateway.body(voice, Ask(_HELLO, more={_LIMIT_FIELDS[voice.name]: "many"}))
    return judge_refusal(
        await gateway.asker.ask(gateway.asker.post(voice, body)), voice, {400, 422}
    )


async def _malformed(gateway: Gateway, voice: Voice) -> Verdict:
    call = gateway.asker.post(voice, b'{"model": ')
    return judge_refusal(await gateway.asker.ask(call), voice, {400})


async def _method(gateway: Gateway, voice: Voice) -> Verdict:
    return judge_method(await gateway.asker.ask(gateway.asker.get_at(voice)), voice)


async def _key(gateway: Gateway, voice: Voice) -> Verdict:
    if gateway.asker.target.key is None:
        return not_applicable("No key is used here.")
    call = gateway.asker.post(voice, gateway.body(voice, Ask(_HELLO)), key=_WRONG_KEY)
    reply = await gateway.asker.ask(call)
    return judge_refusal(reply, voice, {401}, secret=_WRONG_KEY.encode())


async def _oversize(gateway: Gateway, voice: Voice) -> Verdict:
    body = gateway.body(voice, Ask("a" * _OVERSIZE_BYTES))
    reply = await gateway.asker.ask(gateway.asker.post(voice, body))
    return judge_refusal(reply, voice, {400, 413})


async def _serves(gateway: Gateway) -> Verdict:
    if gateway.spoken:
        return passed("At least one dialect is spoken.", dialects=len(gateway.spoken))
    return failed("No dialect answers. Is the model's name right?")


async def _if_spoken(run: _Run, voice: Voice, gateway: Gateway) -> Verdict:
    if voice.name not in gateway.spoken:
        return not_applicable("Nothing answers this model in this dialect.")
    return await run(gateway, voice)


_ROWS: Mapping[str, tuple[str, _Run]] = {
    "stream": ("events and one honest end", _stream),
    "limit": ("an answer that is cut says so", _limit),
    "counts": ("counts for who asks", _counts),
    "tool_call": ("a streamed call is whole", _call),
    "heartbeats": ("heartbeats that clients survive", _beats),
    "leaving": ("a client that leaves holds nothing", _leaving),
    "unknown_model": ("an unknown model: 404", partial(_unknown_model, is_stream=False)),
    "refused_stream": ("a refused stream is no stream", partial(_unknown_model, is_stream=True)),
    "bad_field": ("a bad field: 400", _bad_field),
    "malformed": ("malformed JSON: 400", _malformed),
    "method": ("a wrong method: 405", _method),
    "key": ("a wrong key: 401", _key),
    "oversize": ("40 MiB: 413", _oversize),
}
_ONLY_CHAT = frozenset({"counts"})  # the other two always have them
_ONCE = frozenset({"oversize"})


def _of(voice: Voice) -> Sequence[Check[Gateway]]:
    plain = Check(f"{voice.name}.plain", "a whole answer", partial(_swap, _plain, voice))
    rows = [
        Check(f"{voice.name}.{name}", title, partial(_if_spoken, run, voice))
        for name, (title, run) in _ROWS.items()
        if voice is CHAT or name not in _ONLY_CHAT | _ONCE
    ]
    return (plain, *rows)


async def _swap(run: _Run, voice: Voice, gateway: Gateway) -> Verdict:
    return await run(gateway, voice)


GATEWAY_CHECKS: Sequence[Check[Gateway]] = (
    *(check for voice in VOICES for check in _of(voice)),
    Check("gateway.serves", "a dialect is spoken", _serves),
)
"""All of them, in the order in which they are made."""

assert len({check.name for check in GATEWAY_CHECKS}) == len(GATEWAY_CHECKS)
