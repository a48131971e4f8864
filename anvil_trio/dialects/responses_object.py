"""The response object: what every reply and every lifecycle event of the Responses API carries."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from anvil_trio.dialects.ir import Usage
from anvil_trio.dialects.raw_json import ABSENT, encode, is_given, members_of, raw_of
from anvil_trio.errors import Code, Problem

__all__ = ["ResponseObject", "ResponseStatus", "render_usage"]

ResponseStatus: TypeAlias = Literal["in_progress", "completed", "incomplete", "failed"]

_ECHOED: Mapping[str, object] = MappingProxyType({
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": None,
    "truncation": "disabled",
    "user": None,
})
"""What is repeated as it was sent, and what stands there where it was not."""

_OWN: Mapping[str, object] = MappingProxyType({"service_tier": None, "store": False})
"""What is true here whatever was asked for: there is one service, and nothing is kept."""

_TEXT_FORMAT = {"format": msgspec.Raw(b'{"type":"text"}')}
_NULL = b"null"
_USAGE = (
    b'{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":0},'
    b'"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}'
)
_RATE_LIMIT, _BAD_PROMPT, _SERVER_ERROR = "rate_limit_exceeded", "invalid_prompt", "server_error"
_ERROR_CODES: Mapping[Code, str] = MappingProxyType({
    Code.CONTEXT_LENGTH_EXCEEDED: "context_length_exceeded",
    Code.UPSTREAM_RATE_LIMITED: _RATE_LIMIT,
    Code.INVALID_REQUEST: _BAD_PROMPT,
    Code.UNSUPPORTED_MEDIA: _BAD_PROMPT,
    Code.UPSTREAM_REFUSED: _BAD_PROMPT,
})
"""The API's own few words for why a response failed; all else is a `server_error`."""


def render_usage(usage: Usage, prompt_estimate: int, completion_estimate: int) -> bytes:
    """The counts of a finished reply, with estimates for those that the engine did not report.

    The API has no word for "unknown" here: clients fail on a reply without counts, and on counts
    without details. The record keeps what is unknown as unknown.
    """
    sent = prompt_estimate if usage.prompt_tokens is None else usage.prompt_tokens
    said = completion_estimate if usage.completion_tokens is None else usage.completion_tokens
    return _USAGE % (sent, usage.cached_tokens or 0, said, usage.reasoning_tokens or 0, sent + said)


class ResponseObject:
    """One response through its life: the same id and the same echo, another status."""

    __slots__ = ("_echo", "_head")

    def __init__(
        self, response_id: str, created_at: int, model: str, sent: Mapping[str, msgspec.Raw]
    ) -> None:
        """`sent` are the members of the caller's body, all checked; `model` their own spelling."""
        self._head = b'"id":"%b","object":"response","created_at":%d,"model":%b' % (
            response_id.encode(),
            created_at,
            encode(model),
        )
        echo = encode(_echo_of(sent))[1:-1]
        self._echo = echo.replace(b"\r", b" ").replace(b"\n", b" ")  # the caller's own layout

    def render(
        self,
        status: ResponseStatus,
        *,
        output: Sequence[bytes] = (),
        usage: bytes = _NULL,
        completed_at: int | None = None,
        incomplete_reason: str | None = None,
        error: Problem | None = None,
    ) -> bytes:
        """The object as it is now; `output` are finished items, `usage` is `render_usage`'s."""
        details = None if incomplete_reason is None else {"reason": incomplete_reason}
        return (
            b'{%b,"status":"%b","completed_at":%b,"error":%b,"incomplete_details":%b,'
            b'"output":[%b],"usage":%b,%b}'
        ) % (
            self._head,
            status.encode(),
            encode(completed_at),
            _NULL if error is None else _error_of(error),
            encode(details),
            b",".join(output),
            usage,
            self._echo,
        )


def _echo_of(sent: Mapping[str, msgspec.Raw]) -> dict[str, object]:
    echo: dict[str, object] = {}
    for name, default in _ECHOED.items():
        raw = sent.get(name, ABSENT)
        echo[name] = raw if is_given(raw) else default
    text = sent.get("text", ABSENT)
    if is_given(text):
        asked = {name: raw for name, raw in members_of(text).items() if is_given(raw)}
        echo["text"] = raw_of({**_TEXT_FORMAT, **asked})
    return {**echo, **_OWN}


def _error_of(what: Problem) -> bytes:
    return encode({
        "code": _ERROR_CODES.get(what.code, _SERVER_ERROR),
        "message": what.message,
        "param": what.param,
        "type": what.type,
    })
