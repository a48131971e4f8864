"""What A2A's methods are given."""

import json

import pytest

from anvil_trio.media.a2a_requests import (
    MAX_TASK_ID_CHARS,
    SendRequest,
    accepts,
    accepts_events,
    read_send,
    read_task_id,
)
from anvil_trio.media.json_rpc import RpcCode, RpcError

DATA = {
    "workflowId": "paint",
    "version": "2",
    "parameters": {"prompt": "a cat"},
    "idempotencyKey": "key-1",
}


def params(part=None, configuration=None, **message):
    """The params of a message with one part."""
    given = {"messageId": "m-1", "role": "ROLE_USER", "parts": [part or {"data": DATA}], **message}
    whole = {"message": given}
    return whole if configuration is None else {**whole, "configuration": configuration}


def code_of(found):
    """The number of an error."""
    assert isinstance(found, RpcError), found
    return found.code


@pytest.mark.parametrize(
    "part",
    [
        {"data": DATA},
        {"data": DATA, "mediaType": "application/json; charset=utf-8"},
        {"data": DATA, "mediaType": ""},
        {"text": json.dumps(DATA)},
        {"text": json.dumps(DATA), "mediaType": "text/plain"},
        {"text": json.dumps(DATA), "mediaType": "Application/JSON", "metadata": {}},
    ],
)
def test_a_part_is_data_or_text_that_is_json(part):
    """Both say the same."""
    found = read_send(params(part))
    assert isinstance(found, SendRequest)
    assert found.submission.parameters == {"prompt": "a cat"}
    assert (found.submission.workflow_id, found.submission.idempotency_key) == ("paint", "key-1")
    assert (found.accepted_modes, found.is_patient) == ((), True)


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"url": "http://x"},
        {"raw": "AA=="},
        {"data": DATA, "text": "{}"},
        {"data": DATA, "mediaType": "image/png"},
        {"data": DATA, "mediaType": 5},
        {"text": "{}", "mediaType": "image/png"},
        {"text": 5},
    ],
)
def test_another_part_is_of_a_type_that_is_not_taken(part):
    """-32005."""
    found = read_send(params(part or {"metadata": {}}))
    assert code_of(found) is RpcCode.CONTENT_TYPE_NOT_SUPPORTED


@pytest.mark.parametrize(
    "part",
    [
        {"data": []},
        {"text": "no JSON"},
        {"text": "[]"},
        {"text": '{"a":1,"a":2}'},
        {"text": '{"a":' * 65 + "1" + "}" * 65},
        {"text": '{"a":99999999999999999999}'},
        {"data": {**DATA, "kanarie": 1}},
        {"data": {**DATA, "version": 2}},
        {"data": {key: value for key, value in DATA.items() if key != "idempotencyKey"}},
    ],
)
def test_the_part_is_a_submission(part):
    """-32602, and nothing that was sent comes back."""
    found = read_send(params(part))
    assert code_of(found) is RpcCode.INVALID_PARAMS
    assert "kanarie" not in repr(found)


def test_whole_numbers_come_as_fractions():
    """The SDK writes 2 as 2.0 in data, which has no whole numbers; text is left as it is."""
    data = {**DATA, "parameters": {"steps": 2.0, "weight": 0.5, "deep": [2.0], "is": True}}
    found = read_send(params({"data": data}))
    assert isinstance(found, SendRequest)
    assert repr(dict(found.submission.parameters)) == repr({
        "steps": 2,
        "weight": 0.5,
        "deep": [2.0],
        "is": True,
    })
    found = read_send(params({"text": json.dumps(data)}))
    assert isinstance(found, SendRequest)
    assert repr(found.submission.parameters["steps"]) == "2.0"
    assert code_of(read_send(params({"data": {**DATA, "parameters": 2.0}}))) == -32602


def test_a_missing_field_is_named():
    """By our own name of it."""
    found = read_send(params({"data": {**DATA, "version": 2}}))
    assert isinstance(found, RpcError)
    assert found.data == {"code": "invalid_params", "field": "version"}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"message": 5},
        params(role="ROLE_AGENT"),
        params(parts=[]),
        params(parts=[{"data": DATA}, {"data": DATA}]),
        params(parts=5),
        params(parts=[5]),
        params(contextId="mine"),
        params(configuration=5),
        params(configuration={"returnImmediately": "yes"}),
        params(configuration={"acceptedOutputModes": "image/png"}),
        params(configuration={"acceptedOutputModes": [5]}),
    ],
)
def test_a_message_is_a_message(given):
    """Every other shape is -32602."""
    assert code_of(read_send(given)) is RpcCode.INVALID_PARAMS


def test_a_task_takes_one_message():
    """Whoever sends another one is told that this is not done here."""
    assert code_of(read_send(params(taskId="t"))) is RpcCode.UNSUPPORTED_OPERATION
    assert isinstance(read_send(params(taskId="", contextId="")), SendRequest)


@pytest.mark.parametrize("key", ["taskPushNotificationConfig", "pushNotificationConfig"])
def test_there_is_no_push(key):
    """-32003, in either spelling; null asks for none."""
    found = read_send(params(configuration={key: {"url": "http://x"}}))
    assert code_of(found) is RpcCode.PUSH_NOT_SUPPORTED
    assert isinstance(read_send(params(configuration={key: None})), SendRequest)


def test_what_a_configuration_asks_for():
    """Which outputs are taken, and whether the end is waited for."""
    asked = {"acceptedOutputModes": ["image/png"], "returnImmediately": True, "historyLength": 1}
    found = read_send(params(configuration=asked))
    assert isinstance(found, SendRequest)
    assert (found.accepted_modes, found.is_patient) == (["image/png"], False)


@pytest.mark.parametrize(
    ("modes", "is_taken"),
    [
        ([], True),
        (["image/png"], True),
        (["IMAGE/PNG; q=1"], True),
        (["image/*"], True),
        (["text/plain", "*/*"], True),
        (["image/jpeg"], False),
        (["video/*"], False),
        (["image"], False),
    ],
)
def test_modes(modes, is_taken):
    """A family or everything may be named; nothing named takes everything."""
    assert accepts(modes, "image/png") is is_taken


@pytest.mark.parametrize(
    ("said", "is_taken"),
    [
        ([], True),
        ([""], True),
        (["text/event-stream"], True),
        (["application/json, text/event-stream"], True),
        (["*/*"], True),
        (["text/*;q=0.5"], True),
        (["application/json"], False),
        (["text/event-stream;q=0"], False),
        (["application/json", "text/event-stream; q=0.000"], False),
    ],
)
def test_whether_a_stream_is_taken(said, is_taken):
    """As `Accept` says; without one it is."""
    assert accepts_events(said) is is_taken


@pytest.mark.parametrize("given", [{}, {"id": 5}, {"id": ""}, {"id": "x" * 129}])
def test_a_task_has_an_id(given):
    """A text, not empty and not too long."""
    assert code_of(read_task_id(given)) is RpcCode.INVALID_PARAMS
    assert read_task_id({"id": "x" * MAX_TASK_ID_CHARS}) == "x" * MAX_TASK_ID_CHARS
