"""The checks of one engine, as one table: each asks as the router would and has it judged."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import trio

from anvil_trio.conform.asking import Asker
from anvil_trio.conform.reply import Reply, Trouble, body_of, stream_of
from anvil_trio.conform.running import Check
from anvil_trio.conform.said import Said, ToolCall
from anvil_trio.conform.verdict import Verdict, failed, not_applicable, passed
from anvil_trio.conform.voices import Ask, Voice
from anvil_trio.evals import judges
from anvil_trio.evals.patience import watch_idle
from anvil_trio.evals.token_clock import TokenClock
from anvil_trio.readiness.served import read_props
from anvil_trio.readiness.verdict import judge_health as is_well

__all__ = ["SERVE_CHECKS", "WATCH_S", "Serve"]

_HELLO = "Say hello in one short sentence."
_STORY = "Please count forever, one number after the other, and never stop."
_THINK = "Please ponder this, then answer briefly: how much is six times seven?"
_CITY = "In which city is the Eiffel Tower? Say which city it is, in JSON."
_WEATHER = "What is the weather in Rome? Use the tool."
_HEALTH_PATHS = ("/health", "/healthz", "/v1/models")
_KEEPALIVE_S = 4.0  # what the router uses where nothing is said
WATCH_S = 6.0
"""For how long an idle connection is looked at."""
_LIMIT, _SHORT, _LONG = 1024, 4, 8192
_WORD = "x "
_ABOVE = 64
_ROOM_FOR_A_PROMPT = 256
_SEEN_S, _FALL_S, _GLANCE_S = 5.0, 2.0, 0.1


@dataclass(slots=True)
class Serve:
    """An engine under test: how it is asked, and what was seen of it so far."""

    asker: Asker
    voice: Voice
    whole: Said | None = None
    streamed: Said | None = None
    clock: TokenClock = field(default_factory=TokenClock)
    context_limit: int | None = None
    watch_s: float = WATCH_S
    call: ToolCall | None = None

    @property
    def model(self) -> str:
        """What the engine calls its model."""
        return self.asker.target.model

    async def ask(self, ask: Ask, clock: TokenClock | None = None) -> Reply:
        """The answer to one request."""
        fields = self.voice.render(self.model, replace(ask, limit=self.fit(ask.limit)))
        call = self.asker.post(self.voice, fields)
        return await self.asker.ask(call, None if clock is None else clock.hear)

    def fit(self, limit: int) -> int:
        """A limit that leaves half of the context to the prompt; some engines refuse any other."""
        return limit if self.context_limit is None else max(1, min(limit, self.context_limit // 2))

    def said(self, reply: Reply, *, is_stream: bool = False) -> Said:
        """What an answer says. Raises GrammarError."""
        if is_stream:
            return self.voice.read_stream(stream_of(reply), usage_wanted=True, is_engine=True)
        return self.voice.said_in(body_of(reply))

    def said_unless_refused(self, reply: Reply, *, is_stream: bool = False) -> Said | None:
        """The same; None if the engine does not take such a request."""
        return None if judges.is_refused(reply) else self.said(reply, is_stream=is_stream)


async def _health(serve: Serve) -> Verdict:
    reply = Reply(trouble=Trouble.BROKEN)
    for path in _HEALTH_PATHS:
        reply = await serve.asker.ask(serve.asker.get(path))
        if is_well(judges.as_probed(reply)).verdict.is_ready:
            return judges.judge_health(path, reply)
    return judges.judge_health(None, reply)


async def _identity(serve: Serve) -> Verdict:
    reply = await serve.asker.ask(serve.asker.get("/v1/models"))
    verdict = judges.judge_identity(reply, serve.model)
    stated = verdict.settings.get("context_limit")
    serve.context_limit = stated if isinstance(stated, int) else None
    return verdict


async def _unary(serve: Serve) -> Verdict:
    serve.whole = serve.said(await serve.ask(Ask(_HELLO, limit=_LIMIT)))
    return judges.judge_whole(serve.whole, serve.model)


async def _stream(serve: Serve) -> Verdict:
    ask = Ask(_HELLO, limit=_LIMIT, is_stream=True, wants_counts=True)
    serve.streamed = serve.said(await serve.ask(ask, serve.clock), is_stream=True)
    return judges.judge_streamed(serve.streamed, serve.model)


async def _usage(serve: Serve) -> Verdict:
    if serve.whole is None or serve.streamed is None:
        return not_applicable("There is no answer to count.")
    return judges.judge_counts(serve.whole, serve.streamed, _LIMIT)


async def _stop(serve: Serve) -> Verdict:
    if serve.whole is None:
        return not_applicable("There is no answer to look at.")
    return judges.judge_ended(serve.whole)


async def _length(serve: Serve) -> Verdict:
    return judges.judge_length(serve.said(await serve.ask(Ask(_STORY, limit=_SHORT))), _SHORT)


async def _tool_call(serve: Serve, *, is_stream: bool) -> Verdict:
    ask = Ask(_WEATHER, limit=judges.CALL_LIMIT, is_stream=is_stream, offers_tool=True)
    reply = await serve.ask(ask)
    said = serve.said_unless_refused(reply, is_stream=is_stream)
    verdict = judges.judge_call(reply, said)
    if said is not None and said.calls and serve.call is None and verdict.settings["tool_support"]:
        serve.call = said.calls[0]
    return verdict


async def _tool_result(serve: Serve, *, is_stream: bool) -> Verdict:
    called = serve.call
    if called is None:
        return not_applicable("There is no call that could have a result.")
    ask = Ask(_WEATHER, is_stream=is_stream, offers_tool=True, called=called, limit=_LIMIT)
    return judges.judge_result_turn(serve.said(await serve.ask(ask), is_stream=is_stream))


async def _thinking(serve: Serve) -> Verdict:
    reply = await serve.ask(Ask(_THINK, limit=_LIMIT, thinks=True))
    return judges.judge_thinking(reply, serve.said_unless_refused(reply))


async def _json_schema(serve: Serve) -> Verdict:
    if serve.voice.is_messages:
        return not_applicable("Messages have no such field.")
    reply = await serve.ask(Ask(_CITY, limit=_LIMIT, wants_schema=True))
    return judges.judge_schema(reply, serve.said_unless_refused(reply))


async def _context(serve: Serve) -> Verdict:
    if serve.context_limit is None:
        props = await serve.asker.ask(serve.asker.get("/props"))
        stated = read_props(judges.as_probed(props), serve.model)
        serve.context_limit = judges.usable_context(stated)
    if serve.context_limit is None:
        return not_applicable("The engine does not say how long its context is.")
    prompt = _WORD * (serve.context_limit + _ABOVE)
    verdict = judges.judge_overflow(await serve.ask(Ask(prompt, limit=1)))
    return Verdict(
        verdict.outcome,
        verdict.reason,
        {**verdict.facts, "context_limit": serve.context_limit},
        {"context_limit": serve.context_limit},
    )


async def _cancellation(serve: Serve) -> Verdict:
    before = await _running(serve)
    if before is None:
        return not_applicable("The engine does not show how many requests it runs.")
    # As long as it may be: an answer that ended by itself would look like one that was left.
    room = _LONG if serve.context_limit is None else serve.context_limit - _ROOM_FOR_A_PROMPT
    limit = max(1, min(_LONG, room))
    ask = Ask(_STORY, limit=limit, is_stream=True, more={"ignore_eos": True})
    call = serve.asker.post(serve.voice, serve.voice.render(serve.model, ask))
    during = await serve.asker.during(call, partial(_await_count, serve, before, _SEEN_S, +1))
    if during is None:
        return failed("No stream began.")
    left_at = trio.current_time()
    after = await _await_count(serve, before, _FALL_S, -1)
    return judges.judge_running(before, during, after, trio.current_time() - left_at)


async def _running(serve: Serve) -> int | None:
    reply = await _metrics_page(serve)
    found = judges.family_of(reply.body, serve.model) if reply.status == 200 else None  # noqa: PLR2004
    return None if found is None else found[1].requests_running


async def _await_count(serve: Serve, before: int, within_s: float, sign: int) -> int:
    """The count of running requests once it is above (or again at most) `before`, or at the end."""
    count = before if sign > 0 else before + 1
    with trio.move_on_after(within_s):
        while (count > before) is (sign < 0):
            await trio.sleep(_GLANCE_S)
            seen = await _running(serve)
            count = count if seen is None else seen
    return count


async def _metrics_page(serve: Serve) -> Reply:
    return await serve.asker.ask(serve.asker.get("/metrics"))


async def _metrics(serve: Serve) -> Verdict:
    return judges.judge_metrics(await _metrics_page(serve), serve.model)


async def _keepalive(serve: Serve) -> Verdict:
    call = serve.asker.get("/v1/models")
    seen = await watch_idle(call, answer_s=serve.asker.timeout_s, watch_s=serve.watch_s)
    if seen is None:
        return failed("There is no answer on a connection of its own.")
    return judges.judge_keepalive(
        seen.open_s, is_open=seen.is_open, is_kept=seen.is_kept, default_s=_KEEPALIVE_S
    )


async def _first_token(serve: Serve) -> Verdict:
    first_s = serve.clock.first_s
    if first_s is None:
        return failed("No stream brought a first token.")
    return passed("The first token has come.", first_token_ms=round(first_s * 1000))


_Run = Callable[[Serve], Awaitable[Verdict]]
_ROWS: Sequence[tuple[str, str, _Run]] = (
    ("health", "a path says that it is well", _health),
    ("identity", "its list names the model", _identity),
    ("unary", "a whole answer", _unary),
    ("stream", "events and one honest end", _stream),
    ("usage", "counts of tokens", _usage),
    ("stop", "the end of an answer", _stop),
    ("length", "an answer that a limit cuts", _length),
    ("tool_call", "a call of a tool", partial(_tool_call, is_stream=False)),
    ("tool_call_stream", "a call, streamed", partial(_tool_call, is_stream=True)),
    ("tool_result", "the turn after a result", partial(_tool_result, is_stream=False)),
    ("tool_result_stream", "that turn, streamed", partial(_tool_result, is_stream=True)),
    ("thinking", "the field of thoughts", _thinking),
    ("json_schema", "an answer that fits a schema", _json_schema),
    ("context", "a prompt above the context", _context),
    ("metrics", "the names of its numbers", _metrics),
    ("cancellation", "a client that leaves", _cancellation),
    ("keepalive", "an idle connection", _keepalive),
    ("first_token", "the time to a first token", _first_token),
)

SERVE_CHECKS: Sequence[Check[Serve]] = tuple(Check(*row) for row in _ROWS)
"""All of them, in the order in which they are made."""
