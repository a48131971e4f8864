"""JSON-RPC 2.0: what is a message, what is none, and what is said of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.media.json_rpc import (
    INTERNAL,
    INVALID_REQUEST,
    MAX_BATCH,
    MAX_ID_CHARS,
    NOT_JSON,
    Batch,
    Message,
    RpcCode,
    RpcRefusal,
    invalid_params,
    read_body,
    render_error,
    render_result,
)


def body_of(**members):
    """A request with some members changed."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", **members}).encode()


def test_a_request_is_its_members():
    """Method, params and id are read as they were sent."""
    assert read_body(body_of(params={"a": [1]})) == Message("m", {"a": [1]}, 1)
    assert read_body(body_of(id="x")) == Message("m", {}, "x")


def test_a_notification_has_no_id():
    """Only a message without the member is one: null is an id that nobody may have."""
    found = read_body(b'{"jsonrpc":"2.0","method":"m"}')
    assert isinstance(found, Message)
    assert found.is_notification
    assert not Message("m", {}, 0).is_notification
    assert read_body(body_of(id=None)) == RpcRefusal(None, INVALID_REQUEST)


@pytest.mark.parametrize("given_id", [True, 1.5, [], {}, "x" * (MAX_ID_CHARS + 1)])
def test_an_id_is_a_text_or_a_whole_number(given_id):
    """Anything else is refused, and does not come back."""
    assert read_body(body_of(id=given_id)) == RpcRefusal(None, INVALID_REQUEST)


def test_the_longest_id_comes_back():
    """An id at its bound is one."""
    assert read_body(body_of(id="x" * MAX_ID_CHARS)).id == "x" * MAX_ID_CHARS  # type: ignore[union-attr]


@pytest.mark.parametrize("members", [{"jsonrpc": "1.0"}, {"method": 5}, {"params": 5}])
def test_a_broken_request_is_refused_by_its_id(members):
    """Whoever sent it finds the refusal under the id that could be read."""
    assert read_body(body_of(**members)) == RpcRefusal(1, INVALID_REQUEST)


def test_params_by_position_are_refused():
    """They are JSON-RPC, but both protocols name their params."""
    found = read_body(body_of(params=[1]))
    assert isinstance(found, RpcRefusal)
    assert (found.id, found.error.code) == (1, RpcCode.INVALID_PARAMS)


@pytest.mark.parametrize("body", [b"1", b"null", b'"x"'])
def test_a_value_that_is_no_object_is_no_request(body):
    """It is JSON, and no message."""
    assert read_body(body) == RpcRefusal(None, INVALID_REQUEST)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a":1,"a":2}',
        b"\xff",
        b"[" * 60_000,
        b"[" * 100 + b"]" * 100,
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b'{"id":99999999999999999999}',
    ],
)
def test_what_is_no_plain_json_is_a_parse_error(body):
    """Broken, twice named, too deep or too large a number: -32700 with a null id."""
    assert read_body(body) == RpcRefusal(None, NOT_JSON)


def test_a_batch_keeps_its_order():
    """Each item is read by itself; a bad one does not spoil the others."""
    good = {"jsonrpc": "2.0", "id": 1, "method": "m"}
    found = read_body(json.dumps([good, 5]).encode())
    assert found == Batch((Message("m", {}, 1), RpcRefusal(None, INVALID_REQUEST)))


@pytest.mark.parametrize("size", [0, MAX_BATCH + 1])
def test_a_batch_has_its_bounds(size):
    """An empty one is refused as one message, and so is one that is too long."""
    found = read_body(json.dumps([{}] * size).encode())
    assert isinstance(found, RpcRefusal)
    assert found.error.code is RpcCode.INVALID_REQUEST
    assert isinstance(read_body(json.dumps([{}] * MAX_BATCH).encode()), Batch)


def test_answers_carry_the_id():
    """A result, an error with data and one without."""
    assert json.loads(render_result("x", {"a": 1})) == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": {"a": 1},
    }
    assert json.loads(render_error(None, INTERNAL)) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32603, "message": INTERNAL.message},
    }
    error = json.loads(render_error(1, invalid_params("Words.", "word")))["error"]
    assert error == {"code": -32602, "message": "Words.", "data": {"code": "word"}}


@given(st.binary(max_size=200))
def test_any_bytes_are_read(body):
    """Whatever comes, it is a message, a batch or a refusal; nothing raises."""
    assert isinstance(read_body(body), Message | Batch | RpcRefusal)
