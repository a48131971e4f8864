"""What the fault cases script their engines to answer, as replies of a `FakeUpstream`."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from anvil_trio.config.model import TierDialect
from tests.support.fake_upstream import END, SSE, Fault, Head, Reply, Step

__all__ = ["ScriptedReply", "scripted_replies"]

_CASES = Path(__file__).parents[1] / "cases" / "runner" / "cases"
_CLASSES = ("SSE", "TOOL", "THINK", "USE", "STOP", "MSG", "HTTP")


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One reply of a case's engine; `is_stream` if it is one of events."""

    steps: tuple[Step, ...]
    is_stream: bool
    tier_dialect: TierDialect

    @property
    def reply(self) -> Reply:
        """The script."""
        return Reply(self.steps)


@cache
def scripted_replies() -> Mapping[str, ScriptedReply]:
    """Every scripted reply of the dialects' and the HTTP edge's cases, by case and place."""
    found = {}
    for path in sorted(_CASES.glob("*.json")):
        if path.stem.startswith(tuple(f"{name}-" for name in _CLASSES)):
            case = json.loads(path.read_text(encoding="utf-8"))
            for number, (script, dialect) in enumerate(_scripts(case)):
                found[f"{path.stem}.{number}"] = _scripted(script, dialect)
    return found


def _scripts(case: dict[str, Any]) -> Iterator[tuple[dict[str, Any], TierDialect]]:
    """The replies of a case and of its variants that have some of their own."""
    for unit in (case, *case.get("variants", ())):
        settings = {**(case.get("settings") or {}), **unit.get("settings", {})}
        dialect = TierDialect(settings.get("dialect", "openai"))
        upstream = unit.get("upstream", {})
        for script in upstream.get("replies") or upstream.get("random") or [upstream]:
            if {"chunks", "reset_before_head"} & script.keys():
                yield script, dialect


def _scripted(script: dict[str, Any], dialect: TierDialect) -> ScriptedReply:
    headers = script.get("headers", {"content-type": "text/event-stream"})
    is_stream = headers["content-type"].startswith("text/event-stream")
    steps: list[Step] = []
    if isinstance(delay := script.get("head_delay_s"), int | float):
        steps.append(float(delay))
    if script.get("reset_before_head"):
        return ScriptedReply((*steps, Fault.RESET), is_stream, dialect)
    coding = ((b"content-encoding", b"gzip"),) if script.get("gzip") else ()
    kind = SSE if is_stream else ((b"content-type", headers["content-type"].encode()),)
    steps.append(Head(script.get("status", 200), (*kind, *coding)))
    body = list(_steps(script["chunks"]))
    if script.get("gzip"):
        body = [gzip.compress(b"".join(part for part in body if isinstance(part, bytes)))]
    if not any(isinstance(step, Fault) or step is END for step in body):
        body.append(END)
    return ScriptedReply((*steps, *body), is_stream, dialect)


def _steps(chunks: Sequence[dict[str, Any]]) -> Iterator[Step]:
    """What each chunk of a script is to a reader, up to the end if it names one."""
    for chunk in chunks:
        match chunk:
            case {"sleep_s": seconds}:
                yield float(seconds)
            case {"close": "eof"}:
                yield END
                return
            case {"close": "reset"}:
                yield Fault.RESET
                return
            case {"hold_open_until": _}:
                yield Fault.STALL
                return
            case {"repeat": int(times), "chunks": repeated}:
                yield from list(_steps(repeated)) * times
            case {"fill": [before, char, count, after]}:
                yield before.encode() + char.encode() * count + after.encode()
            case {"b64": text}:
                yield base64.b64decode(text)
            case {"text": text}:
                yield text.encode()
            case _:
                message = "a chunk of an unknown kind"
                raise ValueError(message)
