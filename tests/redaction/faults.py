"""What a caller may ask and an engine may answer, each with canaries, one name for each."""

import json
from base64 import b64encode
from collections.abc import Mapping

from anvil_trio.upstream.stream import END, Head
from tests.redaction.planted import ALIASES, SAID
from tests.support.fake_upstream import (
    BROKEN_WRITE,
    REFUSED,
    SSE,
    STALLED_CONNECT,
    Fault,
    Reply,
    reply,
    stream,
)

__all__ = ["ANSWERS", "ASKED", "CONTENT_TYPES", "OWN_ANSWERS", "PATHS", "SERVICES"]

PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "embeddings": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "form": "/v1/audio/translations",
    "named hearing": "/v1/audio/transcriptions",
    "speech": "/v1/audio/speech",
    "named speech": "/v1/audio/speech",
}
SERVICES = frozenset(PATHS.keys() - {"chat", "messages", "responses"})
"""What is the operator's alone, and goes to one service without a tier."""

CONTENT_TYPES = {
    name: b"multipart/form-data; boundary=kanarie" if name == "form" else b"application/json"
    for name in PATHS
}

_SECRET = "kanarie-from-the-engine"
_LOUD = ((b"x-kanarie", b"kanarie"), (b"content-type", b"application/json; kanarie=1"))
_CALL = {
    "index": 0,
    "id": f"call_{SAID}",
    "type": "function",
    "function": {"name": SAID, "arguments": json.dumps({SAID: SAID})},
}


def _chunk(delta: object, finish: object = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": _SECRET}
    return b"data: " + json.dumps({**body, "choices": [choice], **more}).encode() + b"\n\n"


def _whole(message: object, finish: object = "stop", **more: object) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": _SECRET}
    return json.dumps({**body, "choices": [choice], **more}).encode()


def _event(kind: str, **more: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


_ROLE = _chunk({"role": "assistant", "content": ""})
_TEXT = _chunk({"content": SAID})
_DONE = b"data: [DONE]\n\n"
_START = _event(
    "message_start",
    message={
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": _SECRET,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    },
)
_BLOCK = _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
_DELTA = _event("content_block_delta", index=0, delta={"type": "text_delta", "text": SAID})
_STOPPED = _event("content_block_stop", index=0)
_ENDING = _event(
    "message_delta",
    delta={"stop_reason": "end_turn", "stop_sequence": None},
    usage={"output_tokens": 2},
)
_ERROR = {"error": {"message": _SECRET, "type": _SECRET, "code": _SECRET, "param": _SECRET}}

_CHAT_ANSWERS: Mapping[str, Reply] = {
    "refused": REFUSED,
    "connect stalls": STALLED_CONNECT,
    "write breaks": BROKEN_WRITE,
    "silence": Reply((Fault.STALL,)),
    "no http": Reply((Fault.MALFORMED,)),
    "reset": Reply((Fault.RESET,)),
    "cut body": Reply((Head(200, _LOUD), b'{"kanarie":', Fault.CUT)),
    **{
        f"status {status}": reply(json.dumps(_ERROR).encode(), status=status, headers=_LOUD)
        for status in (201, 204, 302, 400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503)
    },
    "redirect": reply(
        b"", status=307, headers=((b"location", b"http://kanarie.test/"), (b"x-kanarie", b"1"))
    ),
    "html": reply(b"<html>kanarie</html>", headers=((b"content-type", b"text/html"),)),
    "not an object": reply(b'["kanarie"]'),
    "not json": reply(b'{"kanarie": kanarie'),
    "no choices": reply(b'{"choices": [], "kanarie": "kanarie"}'),
    "error in a 200": reply(json.dumps(_ERROR).encode(), headers=_LOUD),
    "good": reply(
        _whole(
            {"role": "assistant", "content": SAID},
            usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        )
    ),
    "odd usage": reply(
        _whole({"role": "assistant", "content": SAID}, usage={"prompt_tokens": SAID})
    ),
    "odd finish": reply(_whole({"role": "assistant", "content": SAID}, SAID)),
    "tools": reply(_whole({"role": "assistant", "tool_calls": [_CALL]}, "tool_calls")),
    "good stream": stream(_ROLE, _TEXT, _chunk({}, "stop"), _DONE),
    "odd finish stream": stream(_ROLE, _TEXT, _chunk({}, SAID), _DONE),
    "tool stream": stream(_ROLE, _chunk({"tool_calls": [_CALL]}), _chunk({}, "tool_calls"), _DONE),
    "thinking stream": stream(
        _ROLE, _chunk({"reasoning_content": SAID}), _TEXT, _chunk({}, "stop"), _DONE
    ),
    "error event": stream(_ROLE, _TEXT, b"data: " + json.dumps(_ERROR).encode() + b"\n\n"),
    "named error event": stream(_ROLE, _event("error", **_ERROR)),
    "malformed event": stream(_ROLE, b"data: {kanarie\n\n"),
    "comment": stream(b": kanarie\n\n", _ROLE, _TEXT, _chunk({}, "stop"), _DONE),
    "unknown event": stream(_event(SAID, said=SAID), _ROLE, _TEXT),
    "ends early": stream(_ROLE, _TEXT),
    "goes silent": stream(_ROLE, _TEXT, is_whole=False),
    "breaks": Reply((Head(200, SSE), _ROLE, _TEXT, Fault.RESET)),
    "loud head": Reply((
        Head(200, (*SSE, (b"x-kanarie", b"kanarie"), (b"set-cookie", b"kanarie=1"))),
        *(_ROLE, _TEXT, _chunk({}, "stop"), _DONE),
        END,
    )),
    "messages stream": stream(*(_START, _BLOCK, _DELTA, _STOPPED, _ENDING, _event("message_stop"))),
    "messages error": stream(_START, _BLOCK, _DELTA, _event("error", **_ERROR)),
    "messages out of turn": stream(_START, _DELTA),
    "messages unknown block": stream(
        _START, _event("content_block_start", index=0, content_block={"type": SAID})
    ),
}

_BYTES = ((b"content-type", b"audio/kanarie; kanarie=1"), (b"x-kanarie", b"kanarie"))
_OWN_EVENT = _event("transcript.text.delta", delta=SAID, model=_SECRET)

OWN_ANSWERS: Mapping[str, Reply] = {
    "embedded": reply(json.dumps({"data": [{"said": SAID}], "model": _SECRET}).encode()),
    "ranked": reply(
        json.dumps({"results": [{"said": SAID}], "model": _SECRET}).encode(), headers=_LOUD
    ),
    "heard": reply(json.dumps({"text": SAID}).encode(), headers=_LOUD),
    "subtitles": reply(SAID.encode(), headers=((b"content-type", b"text/vtt; kanarie=1"),)),
    "spoken": reply(SAID.encode(), headers=_BYTES),
    "too much is said": reply(SAID.encode() * 1_000_000, headers=_BYTES),
    "own stream": stream(b": kanarie\n\n", _OWN_EVENT, b"data: [DONE]\n\n"),
    "own stream breaks": Reply((Head(200, SSE), _OWN_EVENT, b"data: kanarie", Fault.RESET)),
    "own stream errs": stream(_OWN_EVENT, b"data: " + json.dumps(_ERROR).encode() + b"\n\n"),
    "own stream is named kanarie": stream(_event("error", said="kanarie")),
    "audio breaks": Reply((Head(200, _BYTES), SAID.encode(), Fault.RESET)),
}
"""What services may answer; to a chat none of it is an answer."""

ANSWERS: Mapping[str, Reply] = {**_CHAT_ANSWERS, **OWN_ANSWERS}

_TOOL = {
    "type": "function",
    "function": {
        "name": "kanarie_tool",
        "description": "kanarie",
        "parameters": {"type": "object", "properties": {"kanarie": {"type": "string"}}},
    },
}


def _asks(text: str, model: str, **more: object) -> dict[str, bytes]:
    """One request in each dialect."""
    turn = [{"role": "user", "content": text}]
    return {
        "chat": json.dumps({"model": model, "messages": turn, **more}).encode(),
        "messages": json.dumps({
            "model": model,
            "max_tokens": 16,
            "messages": turn,
            **more,
        }).encode(),
        "responses": json.dumps({"model": model, "input": text, **more}).encode(),
        **_service_asks(text, model, **more),
    }


_NAMES = {"embeddings": "embed.main", "rerank": "rank.main", "form": "stt.main"}


def _service_asks(text: str, model: str, **more: object) -> dict[str, bytes]:
    """The same for each service: an alias of a chat stands for the service that there is."""

    def name(kind: str) -> str:
        return _NAMES.get(kind, "tts.main") if model in ALIASES else model

    streams = more.pop("stream", False)
    sound = b64encode(text.encode()).decode()
    given: dict[str, dict[str, object]] = {
        "embeddings": {"model": name("embeddings"), "input": text},
        "rerank": {"model": name("rerank"), "query": text, "documents": [text]},
        "named hearing": {
            "route": name("form"),
            "audio_b64": sound,
            "format": "webm_opus",
            "is_final": True,
        },
        "speech": {
            "model": name("speech"),
            "input": text,
            "stream_format": "sse" if streams else "audio",
        },
        "named speech": {"route": name("speech"), "input": text},
    }
    asks = {kind: json.dumps({**body, **more}).encode() for kind, body in given.items()}
    return {**asks, "form": _form(name("form"), text, streams=bool(streams), **more)}


def _form(model: str, text: str, *, streams: bool, **more: object) -> bytes:
    fields = {**{key: str(value) for key, value in more.items()}, "model": model, "file": text}
    if streams:
        fields["stream"] = "true"
    parts = [
        f'--kanarie\r\ncontent-disposition: form-data; name="{key}"; filename="kanarie"\r\n\r\n'
        f"{value}\r\n"
        for key, value in fields.items()
    ]
    return "".join([*parts, "--kanarie--\r\n"]).encode()


_ONE = ALIASES[0]
_PROMPT = "kanarie-prompt"

ASKED: Mapping[str, Mapping[str, bytes]] = {
    **{f"{alias} unary": _asks(_PROMPT, alias) for alias in ALIASES},
    **{f"{alias} stream": _asks(_PROMPT, alias, stream=True) for alias in ALIASES},
    "unknown model": _asks(_PROMPT, "kanarie-model"),
    "no model": _asks(_PROMPT, ""),
    "odd model": dict.fromkeys(PATHS, b'{"model": ["kanarie"]}'),
    "no json": dict.fromkeys(PATHS, b'{"kanarie": kanarie'),
    "not utf-8": dict.fromkeys(PATHS, b'{"kanarie": "\xff"}'),
    "a list": dict.fromkeys(PATHS, b'["kanarie"]'),
    "unknown field": _asks(_PROMPT, _ONE, kanarie_field="kanarie"),
    "odd limit": _asks(_PROMPT, _ONE, max_tokens="kanarie", max_output_tokens="kanarie"),
    "odd temperature": _asks(_PROMPT, _ONE, temperature="kanarie"),
    "odd tools": _asks(_PROMPT, _ONE, tools="kanarie"),
    "odd tool": _asks(_PROMPT, _ONE, tools=[{"type": SAID, SAID: SAID}]),
    "odd messages": {
        name: json.dumps({
            "model": _ONE,
            "max_tokens": 4,
            "messages": [{"role": "kanarie", "content": {"kanarie": "kanarie"}}],
            "input": [{"type": "kanarie", "kanarie": "kanarie"}],
        }).encode()
        for name in PATHS
    },
    "tools where there are none": {
        **dict.fromkeys(SERVICES, b'{"tools": "kanarie"}'),
        "chat": json.dumps({
            "model": ALIASES[1],
            "messages": [{"role": "user", "content": _PROMPT}],
            "tools": [_TOOL],
        }).encode(),
        "messages": json.dumps({
            "model": ALIASES[1],
            "max_tokens": 4,
            "messages": [{"role": "user", "content": _PROMPT}],
            "tools": [{"name": "kanarie_tool", "input_schema": {"type": "object"}}],
        }).encode(),
        "responses": json.dumps({
            "model": ALIASES[1],
            "input": _PROMPT,
            "tools": [{"type": "function", "name": "kanarie_tool", "parameters": {}}],
        }).encode(),
    },
    "too long": _asks("kanarie " * 20_000, _ONE),
    "not offered": _asks(_PROMPT, _ONE, previous_response_id="kanarie", store=True, n=3),
}
