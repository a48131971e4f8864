"""Problems as OpenAI's Chat Completions puts them, alone or as the last event of a stream."""

from anvil_trio.dialects.raw_json import encode
from anvil_trio.dialects.sse import render_event
from anvil_trio.errors import Problem

__all__ = ["error_event", "render_problem"]


def render_problem(what: Problem) -> bytes:
    """OpenAI's error body."""
    error = {
        "message": what.message,
        "type": what.type,
        "param": what.param,
        "code": what.code.value,
    }
    return encode({"error": error})


def error_event(what: Problem) -> bytes:
    """The last event of a stream that failed; no `[DONE]` follows it."""
    return render_event(render_problem(what))
