"""What a Chat body may be, and how a wrong one is refused."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.ir import ChatRequest, Media
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Code, Problem
from tests.unit.dialects.chats import HI, body, parsed, patient, refusal

SECRET = "topsecret"


def test_a_plain_request_is_read():
    """Model, stream, usage and limit are known, the rest is kept as it came."""
    request = parsed(
        model=" LLM.Primary ",
        stream=True,
        stream_options={"include_usage": True},
        max_tokens=64,
        max_completion_tokens=32,
        n=2,
        seed=7,
    )
    assert (request.model, request.stream, request.usage_wanted) == (" LLM.Primary ", True, True)
    assert (request.output_limit, request.choices) == (32, 2)
    assert list(request.fields)[-1] == "seed"
    assert not request.has_tools
    assert not request.is_prefill
    assert SECRET not in repr(parsed(user=SECRET))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"{} {}",
        b"{'model': 1}",
        b"\xef\xbb\xbf{}",
        b'{"model": "a\xff"}',
        b'{"x": NaN}',
        b'{"x": -Infinity}',
        b'{"x": 01}',
        b'{"x": "\\ud800"}',
        b'{"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"x": ' + b'{"x":' * 200_000,
    ],
)
def test_a_body_that_is_no_json_object_is_refused(raw: bytes):
    """Broken, nested without end, not UTF-8, with numbers that JSON does not have, or no object."""
    what = refusal(raw)
    assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, None)
    assert what.message == "The body must be one JSON object in UTF-8."


WRONG: dict[str, list[Any]] = {
    "model": [7, True, ["a"], {"a": 1}],
    "messages": [[], "hi", {}, 7, [7], ["hi"], [{}], [{"role": 7}], [{"role": None}],
                 [{"role": "user", "content": 7}], [{"role": "user", "content": {"text": "a"}}],
                 [{"role": "user", "content": [7]}],
                 [{"role": "user", "content": [{"type": "text", "text": 7}]}],
                 [{"role": "assistant", "tool_calls": "x"}],
                 [{"role": "assistant", "tool_calls": [7]}]],
    "stream": ["no", "true", 1, 0, []],
    "n": [0, -1, True, 1.0, "1", [1]],
    "max_tokens": [0, -1, True, 1.5, "64", 2**63, 10**30],
    "max_completion_tokens": [0, -1, False, 1.5, "64"],
    "temperature": ["0.7", True, [], 10**400],
    "top_p": ["1", False],
    "presence_penalty": ["1", {}],
    "frequency_penalty": ["1", []],
    "stop": [7, [7], ["a", None], {}],
    "tools": ["x", {}, [7], [None]],
    "functions": ["x", [7]],
    "tool_choice": [7, True, [], {"type": 7}, {"type": "function", "function": {}}],
    "stream_options": ["x", [], {"include_usage": "yes"}, {"include_usage": 1}],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in WRONG.items() for v in vs])
def test_a_field_of_the_wrong_type_is_a_400_that_names_it(name: str, value: object):
    """A fixed sentence with the field's name; the value is nowhere."""
    what = refusal(body(**{name: value}, user=SECRET))
    assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, name)
    assert what.type == "invalid_request_error"
    assert what.message.startswith(f"`{name}` must be ")
    assert SECRET not in repr(what)


@pytest.mark.parametrize(
    ("name", "number"), [("temperature", b"1e999"), ("top_p", b"9" * 5000), ("n", b"9" * 5000)]
)
def test_a_number_beyond_all_bounds_is_refused(name: str, number: bytes):
    """More than a float holds, or more digits than anyone converts."""
    raw = body().replace(b'"model"', b'"%b": %b, "model"' % (name.encode(), number))
    assert refusal(raw).param == name


@pytest.mark.parametrize("missing", [..., None])
def test_a_missing_model_is_an_unknown_one(missing: object):
    """R001: without a model there is none that could be served."""
    what = refusal(model=missing)
    assert (what.status, what.code, what.param) == (404, Code.MODEL_NOT_FOUND, "model")


@pytest.mark.parametrize("missing", [..., None])
def test_missing_messages_are_refused(missing: object):
    """There is nothing to answer."""
    assert refusal(messages=missing).param == "messages"


def test_a_null_is_as_good_as_nothing():
    """Every field but the two that must be there may be null."""
    request = parsed(**dict.fromkeys(WRONG.keys() - {"model", "messages"}))
    assert not request.stream
    assert (request.output_limit, request.choices) == (None, 1)


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0, "top_p": 1, "presence_penalty": -2, "frequency_penalty": 0.5},
        {"stop": "\n"},
        {"stop": ["a", "b"]},
        {"stop": []},
        {"tools": []},
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"},
        {"tools": [{}], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"tools": [{}], "tool_choice": {"type": "allowed_tools", "allowed_tools": {}}},
        {"stream_options": {"include_usage": False, "continuous_usage_stats": True}},
        {"messages": [{"role": "user", "content": ["a", {"type": "text", "text": "b"}]}]},
        {"messages": [{"role": "wizard", "content": None, "name": "x", "unknown": [1]}]},
        {"messages": [{"role": "user"}, {"role": "assistant", "content": []}]},
        {"response_format": {"type": "json_schema"}, "logit_bias": {"1": 2}, "anything": [None]},
    ],
)
def test_what_the_api_takes_is_taken(fields: dict[str, Any]):
    """Our checks are no stricter than the API; what it does not name is the engine's to judge."""
    assert isinstance(CHAT.parse_request(body(**fields)), ChatRequest)


def test_of_a_field_given_twice_the_last_value_counts():
    """A known gap: the first value is dropped without a word, and the engine never sees it."""
    request = parsed(b'{"model":"a","model":"b","messages":[{"role":"user","content":"hi"}]}')
    assert request.model == "b"
    assert list(request.fields) == ["model", "messages"]


@pytest.mark.parametrize(
    "twin", [b'"model":7', b'"messages":[]', b'"n":0', b'"stream":"x"', b'"tools":[7]']
)
def test_only_the_last_value_of_a_field_given_twice_is_judged(twin: bytes):
    """A first value of the wrong type is as if it were not there."""
    last = b'"model":"b","messages":[{"role":"user","content":"hi"}],"n":2,"stream":true,"tools":[]'
    request = parsed(b"{%b,%b}" % (twin, last))
    assert (request.model, request.choices, request.stream) == ("b", 2, True)
    assert set(request.fields) == {"model", "messages", "n", "stream", "tools"}


def test_of_several_faults_the_model_is_named_first_and_the_messages_last():
    """In between the first in the order in which they came."""
    assert refusal(b'{"messages":[],"n":0,"stream":1,"model":7}').param == "model"
    assert refusal(b'{"messages":[],"n":0,"stream":1,"model":"m"}').param == "n"
    assert refusal(b'{"messages":[],"stream":1,"n":0,"model":"m"}').param == "stream"
    assert refusal(b'{"messages":[],"n":1,"model":"m"}').param == "messages"


@pytest.mark.parametrize(
    ("fields", "has_tools"),
    [
        ({"tools": []}, False),
        ({"tools": [{"type": "function"}]}, True),
        ({"functions": [{"name": "f"}]}, True),
        ({"messages": [*HI, {"role": "tool", "tool_call_id": "a", "content": "x"}]}, True),
        ({"messages": [*HI, {"role": "function", "name": "f", "content": "x"}]}, True),
        ({"messages": [*HI, {"role": "assistant", "tool_calls": [{"id": "a"}]}]}, True),
        ({"messages": [*HI, {"role": "assistant", "content": "x", "tool_calls": []}]}, False),
    ],
)
def test_tools_are_seen_in_the_request_and_in_its_history(fields: dict[str, Any], has_tools: bool):
    """Offered tools, calls and their results all need a tier with tools."""
    assert parsed(**fields).has_tools is has_tools


@pytest.mark.parametrize(
    ("part", "media"),
    [
        ({"type": "text", "text": "image_url"}, Media()),
        ({"type": "image_url", "image_url": {"url": "data:,"}}, Media(images=1)),
        ({"type": "input_image", "image_url": "data:,"}, Media(images=1)),
        ({"image_url": {"url": "data:,"}}, Media(images=1)),
        ({"type": "video_url", "video_url": {"url": "x"}}, Media(videos=1)),
        ({"video_url": {"url": "x"}}, Media(videos=1)),
        ({"type": "input_audio", "input_audio": {"data": ""}}, Media(audios=1)),
        ({"audio_url": {"url": "x"}}, Media(audios=1)),
        ({"input_audio": {}}, Media(audios=1)),
        ({"type": "file", "file": {"file_id": "x"}}, Media(files=1)),
        ({"file": {}}, Media(files=1)),
        ({"type": "refusal", "refusal": "no"}, Media()),
        ({"image_url": None}, Media()),
        ("image", Media()),
    ],
)
def test_media_are_counted_by_kind(part: object, media: Media):
    """A part's type tells its kind; engines also take parts that only hold the member."""
    assert parsed(messages=[{"role": "user", "content": [part]}]).media == media


def test_media_of_all_messages_are_counted():
    """History counts as much as the last turn."""
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    turn = {"role": "user", "content": [image, {"type": "text", "text": "a"}, image]}
    assert parsed(messages=[turn, *HI, turn]).media == Media(images=4)


def test_the_estimate_is_over_the_decoded_text_of_all_messages():
    """Contents, parts and the arguments of earlier calls count; JSON escapes and media do not."""
    text = "é" * 8  # 16 bytes, 48 as JSON escapes
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": text}}
    odd = [{"id": "b", "type": "custom"}, {"id": "c", "function": {"arguments": {"x": 1}}}]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
    request = parsed(
        messages=[
            {"role": "system", "content": text},
            {"role": "user", "content": [{"type": "text", "text": text}, text, image]},
            {"role": "assistant", "content": None, "tool_calls": [call, *odd]},
        ]
    )
    assert request.prompt_tokens == (4 * 16 + 3) // 4  # and three line ends between the texts


TEXT = st.text(st.sampled_from(' ab"\\\n\té你\U0001f600'), max_size=12)
SAYING = st.builds(
    lambda text, parts, call: {
        "role": "assistant",
        "content": parts or text,
        "tool_calls": [{"function": {"arguments": call}}],
    },
    TEXT,
    st.lists(TEXT | st.builds(lambda text: {"type": "text", "text": text}, TEXT), max_size=3),
    TEXT,
)


@patient
@given(st.lists(SAYING, min_size=1, max_size=4), st.booleans())
def test_an_estimate_is_the_same_whenever_it_is_made_and_never_above_its_bound(
    messages: list[dict[str, Any]], is_ascii: bool
):
    """A stream makes it at once, any other request when it is asked."""
    whole = {"model": "m", "messages": messages}
    now, later = (
        parsed(json.dumps({**whole, "stream": stream}, ensure_ascii=is_ascii).encode())
        for stream in (True, False)
    )
    assert now.prompt.most == now.prompt_tokens <= later.prompt.most
    assert later.prompt_tokens == now.prompt_tokens
    assert later.prompt.most == now.prompt_tokens


def test_a_prompt_that_is_too_deep_to_be_read_again_is_estimated_by_its_bytes():
    """What passed the checks may be asked for where there is less room on the stack."""

    def asked(request: ChatRequest, further: int) -> int:
        return asked(request, further - 1) if further else request.prompt_tokens

    seen = set()
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit()):
        nested = b"[" * depth + b"]" * depth
        messages = b'[{"role":"user","content":"hi","x":%b}]' % nested
        request = CHAT.parse_request(b'{"model":"m","messages":%b}' % messages)
        if isinstance(request, ChatRequest):
            seen.add({1: "text", len(messages) // 4: "bytes"}[asked(request, 40)])
    assert seen == {"text", "bytes"}


@pytest.mark.parametrize(
    ("last", "is_prefill"),
    [
        ({"role": "user", "content": "1,"}, False),
        ({"role": "assistant", "content": "1, 2,"}, True),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, False),
    ],
)
def test_a_last_message_of_the_assistant_is_a_prefill(last: dict[str, Any], is_prefill: bool):
    """Unless it calls a tool."""
    assert parsed(messages=[*HI, last]).is_prefill is is_prefill


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
FIELDS = st.dictionaries(st.sampled_from([*WRONG, "x"]), JSON, max_size=6)
MEMBERS = ["role", "content", "tool_calls", "reasoning", "reasoning_content", "type", "text"]
MESSAGE = st.dictionaries(
    st.sampled_from(MEMBERS), JSON | st.sampled_from(["assistant", "system", "developer", ""])
)


@patient
@given(FIELDS, st.lists(MESSAGE, max_size=4))
def test_no_json_breaks_the_parser(fields: dict[str, Any], messages: list[dict[str, Any]]):
    """Any JSON is a request or a refusal."""
    for whole in (fields, {"model": "m", "messages": messages, **fields}):
        what = CHAT.parse_request(json.dumps(whole).encode(errors="replace"))
        assert isinstance(what, ChatRequest | Problem)


@patient
@given(st.binary(max_size=64))
def test_no_bytes_break_the_parser(raw: bytes):
    """Any bytes are a request or a refusal."""
    assert isinstance(CHAT.parse_request(raw), ChatRequest | Problem)
