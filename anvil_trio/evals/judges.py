"""What an engine's answers mean for the router that will depend on it: verdicts. Pure.

A reader raises GrammarError for an answer that is not what its dialect says; the runner turns it
into a failure of the check in whose course it came.
"""

from collections.abc import Mapping

from pydantic import JsonValue

from anvil_trio.conform.grammar import GrammarError, must, parse_json, parse_object
from anvil_trio.conform.reply import Reply, Trouble, expect_ok
from anvil_trio.conform.said import Counts, Finish, Said
from anvil_trio.conform.verdict import Verdict, failed, not_applicable, passed
from anvil_trio.conform.voices import TOOL_NAME
from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.errors import Code
from anvil_trio.facts import Answer, Silence
from anvil_trio.readiness import verdict as readiness
from anvil_trio.signals.engines import ENGINES, Engine, Fault, Observation, SignalState, observe

__all__ = [
    "CALL_LIMIT",
    "as_probed",
    "context_of",
    "family_of",
    "is_refused",
    "judge_call",
    "judge_counts",
    "judge_ended",
    "judge_health",
    "judge_identity",
    "judge_keepalive",
    "judge_length",
    "judge_metrics",
    "judge_overflow",
    "judge_result_turn",
    "judge_running",
    "judge_schema",
    "judge_streamed",
    "judge_thinking",
    "judge_whole",
    "usable_context",
]

CALL_LIMIT = 2048
_SLACK = 1  # an engine may or may not count the token that ends an answer
_PATIENCE_MARGIN_S = 1.0
_LEAST_PATIENCE_S = 0.5
_FIRST_REFUSAL, _FIRST_FAILURE, _LAST = 400, 500, 600
_NOT_BUILT = 501
_CONTEXT_NAMES = ("max_model_len", "max_context_length", "context_length")
_MOST_CONTEXT = 16_777_216
_THINK_TAG = "<think>"


def is_refused(reply: Reply) -> bool:
    """Whether the engine says that it does not take such a request at all."""
    status = reply.status or 0
    return reply.trouble is None and (
        _FIRST_REFUSAL <= status < _FIRST_FAILURE or status == _NOT_BUILT
    )


def as_probed(reply: Reply) -> Answer | Silence:
    """An answer as the router's own probe would have it."""
    if reply.status is None or reply.trouble is not None:
        return Silence.TIMED_OUT if reply.trouble is Trouble.TIMED_OUT else Silence.BROKEN
    return Answer(reply.status, reply.body)


def judge_health(path: str | None, reply: Reply) -> Verdict:
    """One of the usual paths says that the engine is well; None if none does."""
    if path is None:
        reason = readiness.judge_health(as_probed(reply)).verdict.reason
        return failed("No path says that the engine is well.", seen=reason)
    return passed("A path says that the engine is well.", {"health_path": path})


def judge_identity(reply: Reply, model: str) -> Verdict:
    """`/v1/models` names the model, as the router's prober reads it."""
    verdict = readiness.judge_identity(as_probed(reply), model).verdict
    if not verdict.is_ready:
        return failed("The engine's list does not name the model.", seen=verdict.reason)
    context = context_of(reply.body, model)
    settings: dict[str, JsonValue] = {"model_identity": True}
    if context is not None:
        settings["context_limit"] = context
    return passed("The engine's list names the model.", settings)


def context_of(body: bytes, model: str) -> int | None:
    """The context that a list states for the model; None if it states none."""
    found = parse_json(body)
    entries = found.get("data") if isinstance(found, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("id") == model:
            stated = (usable_context(entry.get(name)) for name in _CONTEXT_NAMES)
            return next((one for one in stated if one is not None), None)
    return None


def usable_context(stated: object) -> int | None:
    """A context that a tier can have; None for what is no count of tokens, or a mad one."""
    if isinstance(stated, bool) or not isinstance(stated, int):
        return None
    return stated if 0 < stated <= _MOST_CONTEXT else None


def judge_whole(said: Said, model: str) -> Verdict:
    """A plain request is answered by the model that was asked for."""
    fault = _answer_fault(said, model)
    return failed(fault) if fault else passed("The answer is whole, and names the model.")


def judge_streamed(said: Said, model: str) -> Verdict:
    """So is a streamed one, whose events keep the grammar."""
    fault = _answer_fault(said, model)
    if fault:
        return failed(fault)
    return passed("Every event keeps the grammar, and there is exactly one end.")


def _answer_fault(said: Said, model: str) -> str | None:
    if not (said.text or said.thinking):
        return "The answer says nothing."
    return None if said.model == model else "The answer names another model than was asked."


def judge_ended(said: Said) -> Verdict:
    """An answer that ends by itself says `stop`."""
    if said.finish is Finish.STOP:
        return passed("An answer that ends by itself says so.")
    if said.finish is Finish.LENGTH:
        return not_applicable("The model did not end by itself within the limit.")
    return failed("An answer ends for a reason that the router does not know.")


def judge_length(said: Said, limit: int) -> Verdict:
    """An answer that a limit cuts says `length`, and has that many tokens."""
    if said.finish is Finish.STOP:
        return not_applicable("The model ended by itself below the limit.")
    must(said.finish is Finish.LENGTH, "a limit that cuts an answer is not told as one")
    if said.counts is not None and abs(said.counts.completion - limit) > _SLACK:
        return failed(
            "The count of a cut answer is not its limit.",
            limit=limit,
            counted=said.counts.completion,
        )
    return passed("An answer that a limit cuts says so, and counts as many tokens.", limit=limit)


def judge_counts(whole: Said, streamed: Said, limit: int) -> Verdict:
    """Whole and streamed answers to one prompt count it alike, and the sums are right."""
    one, other = whole.counts, streamed.counts
    if one is None or other is None:
        return failed("Counts are missing.", whole=one is not None, streamed=other is not None)
    for counts in (one, other):
        must(counts.prompt > 0 and counts.completion > 0, "a count is zero")
        must(counts.completion <= limit + _SLACK, "a count is above the limit")
        must(_adds_up(counts), "the counts do not add up")
    if one.prompt != other.prompt:
        return failed("One prompt is counted in two ways.", whole=one.prompt, streamed=other.prompt)
    return passed("Whole and streamed answers are counted alike.", prompt_tokens=one.prompt)


def _adds_up(counts: Counts) -> bool:
    return counts.total is None or counts.total == counts.prompt + counts.completion


def judge_call(reply: Reply, said: Said | None) -> Verdict:
    """A tool that is demanded is called, with an object that fits; None if it was refused."""
    if said is None:
        return not_applicable(
            "The engine does not take tools.", {"tool_support": False}, status=reply.status
        )
    if not said.calls:
        return not_applicable("The model made no call.", {"tool_support": False})
    if said.finish is Finish.LENGTH:
        return not_applicable("The call did not end within the limit.", {"tool_support": False})
    for call in said.calls:
        must(call.id and call.name == TOOL_NAME, "a call names no tool that was offered")
        fault = _arguments_fault(call.arguments)
        if fault is not None:
            return failed(fault, {"tool_support": False})
    return passed("A call has its name, its id and arguments that fit.", {"tool_support": True})


def _arguments_fault(text: str) -> str | None:
    try:
        arguments = parse_object(text)
    except GrammarError:
        return "The arguments of a call are no JSON object."
    if isinstance(arguments.get("city"), str):
        return None
    return "The arguments of a call do not fit the tool's schema."


def judge_result_turn(said: Said) -> Verdict:
    """The turn after a tool's result is answered."""
    must(said.text or said.calls, "the answer to a tool's result says nothing")
    return passed("A tool's result is taken and answered.")


def judge_thinking(reply: Reply, said: Said | None) -> Verdict:
    """Thoughts come in a field of their own; None if a request for them was refused."""
    if said is None:
        return not_applicable("The engine does not take a wish for thoughts.", status=reply.status)
    if _THINK_TAG in said.text:
        return failed("Thoughts come within the text: the engine's reasoning parser is off.")
    if said.thinking_field is None:
        return not_applicable("The model did not think.")
    return passed("Thoughts come in a field of their own.", field=said.thinking_field)


def judge_schema(reply: Reply, said: Said | None) -> Verdict:
    """An answer that must fit a schema does; None if the wish was refused."""
    if said is None:
        return not_applicable("The engine does not take a JSON schema.", status=reply.status)
    if said.finish is Finish.LENGTH:
        return not_applicable("The answer did not end within the limit.")
    try:
        fits = isinstance(parse_object(said.text).get("city"), str)
    except GrammarError:
        fits = False
    if not fits:
        return failed("The answer does not fit the schema that it had to.")
    return passed("The answer fits the schema.")


def judge_overflow(reply: Reply) -> Verdict:
    """A prompt above the context is refused, in words that the router knows."""
    if reply.status is None:
        expect_ok(reply)
    status = reply.status or 0
    if not _FIRST_REFUSAL <= status < _FIRST_FAILURE:
        words = (
            "A prompt above the context is answered."
            if status < _FIRST_REFUSAL
            else "A prompt above the context makes the engine fail."
        )
        return failed(words, status=status)
    if error_problem(reply.body, status).code is not Code.CONTEXT_LENGTH_EXCEEDED:
        return failed(
            "A prompt above the context is refused in words that the router does not know.",
            status=status,
        )
    return passed("A prompt above the context is refused as one.", status=status)


def judge_keepalive(open_s: float, *, is_open: bool, is_kept: bool, default_s: float) -> Verdict:
    """How long an idle connection stays open, and what follows for `upstream_keepalive_s`."""
    if not is_kept or (not is_open and open_s < _LEAST_PATIENCE_S):
        return failed(
            "The engine closes a connection at once, so that every request needs a new one.",
            {"upstream_keepalive_s": 0.0},
            open_s=round(open_s, 2),
        )
    if is_open:
        return passed("An idle connection stays open.", open_s=round(open_s, 2))
    usable_s = max(0.0, round(open_s - _PATIENCE_MARGIN_S, 1))
    settings: Mapping[str, JsonValue] = (
        {} if usable_s >= default_s else {"upstream_keepalive_s": usable_s}
    )
    return passed("An idle connection is closed after a while.", settings, open_s=round(open_s, 2))


def family_of(text: bytes, model: str) -> tuple[Engine, Observation] | None:
    """The family whose numbers a metrics text has, and what they say; None if it is none's."""
    for engine in ENGINES:
        observation = observe(engine, text, model)
        if not isinstance(observation, Fault):
            return engine, observation
    return None


def judge_metrics(reply: Reply, model: str) -> Verdict:
    """The engine's numbers have the names that the router reads."""
    if reply.status is None:
        expect_ok(reply)
    if is_refused(reply):
        return not_applicable("The engine shows no metrics.")
    expect_ok(reply)
    found = family_of(reply.body, model)
    if found is None:
        return not_applicable("The metrics have no names that the router reads.")
    engine, observation = found
    word = engine.words[0]
    if observation.requests_state is not SignalState.VALID:
        return failed("The numbers of running and waiting requests are missing.", engine=word)
    has_kv = observation.kv_state is SignalState.VALID
    return passed("The metrics have the names that the router reads.", {"engine": word}, kv=has_kv)


def judge_running(before: int, during: int, after: int, fell_s: float) -> Verdict:
    """The engine stops when its client leaves."""
    if during <= before:
        return failed("A running request does not show in the engine's count.")
    if after > before:
        return failed("The engine goes on after its client has left.", waited_s=round(fell_s, 2))
    return passed("The engine stops when its client leaves.", fell_s=round(fell_s, 2))
