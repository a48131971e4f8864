"""What A2A's methods are given: the one part of a message, and the id of a task. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import JsonValue

from anvil_trio.config.json_object import read_json_object
from anvil_trio.config.json_values import is_json
from anvil_trio.media.arguments import SUBMISSION, Fault, read_arguments, submission_of
from anvil_trio.media.json_rpc import RpcCode, RpcError, invalid_params
from anvil_trio.media.refusals import a2a_failure
from anvil_trio.operations.model import Submission

__all__ = [
    "A2A_VERSION",
    "NO_VERSION",
    "OUTPUT_NOT_ACCEPTED",
    "UNSUPPORTED",
    "SendRequest",
    "accepts",
    "accepts_events",
    "read_send",
    "read_task_id",
]

A2A_VERSION = "1.0"
MAX_TASK_ID_CHARS = 128

NO_VERSION = a2a_failure(
    RpcCode.VERSION_NOT_SUPPORTED,
    "This endpoint speaks A2A 1.0: send the header `A2A-Version: 1.0`.",
    "version_not_supported",
)
OUTPUT_NOT_ACCEPTED = a2a_failure(
    RpcCode.CONTENT_TYPE_NOT_SUPPORTED,
    "`acceptedOutputModes` leaves out what this workflow makes.",
    "output_not_accepted",
)
_PART_TYPE = a2a_failure(
    RpcCode.CONTENT_TYPE_NOT_SUPPORTED,
    "The part of a message must be `data`, or `text` that is JSON.",
    "part_not_supported",
)
_NO_PUSH = a2a_failure(
    RpcCode.PUSH_NOT_SUPPORTED, "There are no push notifications.", "push_not_supported"
)
_NO_SUCH_OPERATION = a2a_failure(
    RpcCode.UNSUPPORTED_OPERATION, "This agent does not do this.", "operation_not_supported"
)
_NO_MORE_MESSAGES = a2a_failure(
    RpcCode.UNSUPPORTED_OPERATION,
    "A task takes one message: leave out `taskId`.",
    "task_takes_one_message",
)

UNSUPPORTED: Mapping[str, RpcError] = MappingProxyType({
    "ListTasks": _NO_SUCH_OPERATION,
    "GetExtendedAgentCard": _NO_SUCH_OPERATION,
    **dict.fromkeys(
        (
            "CreateTaskPushNotificationConfig",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "DeleteTaskPushNotificationConfig",
        ),
        _NO_PUSH,
    ),
})
"""The methods of A2A 1.0 that there are not here."""

_NO_MESSAGE = invalid_params("`message` must be an object.")
_ROLE = invalid_params("`message.role` must be ROLE_USER.")
_OWN_CONTEXT = invalid_params("Every task has a context of its own: leave out `contextId`.")
_ONE_PART = invalid_params("`message.parts` must hold one part.")
_NO_OBJECT = invalid_params("The part of the message must be one JSON object.")
_FOREIGN = invalid_params("The message has a field that is not known here.")
_MODES = invalid_params("`acceptedOutputModes` must be a list of media types.")
_CONFIGURATION = invalid_params("`configuration` is not valid.")
_TASK_ID = invalid_params("`id` must be the id of a task.")
_FIELDS: Mapping[str, RpcError] = MappingProxyType({
    one.name: RpcError(
        RpcCode.INVALID_PARAMS,
        f"`{one.name}` is missing or not of its kind.",
        {"code": "invalid_params", "field": one.name},
    )
    for one in SUBMISSION
})

_PUSH_KEYS = ("taskPushNotificationConfig", "pushNotificationConfig")
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class SendRequest:
    """One message: what is to be run, what may come of it, and whether its end is waited for."""

    submission: Submission
    accepted_modes: Sequence[str]
    is_patient: bool


def read_send(params: Mapping[str, JsonValue]) -> SendRequest | RpcError:
    """The params of SendMessage and SendStreamingMessage."""
    configuration = _read_configuration(params.get("configuration"))
    if isinstance(configuration, RpcError):
        return configuration
    message = params.get("message")
    if not isinstance(message, dict):
        return _NO_MESSAGE
    said = _check_message(message) or _read_part(message["parts"])
    if isinstance(said, RpcError):
        return said
    fault = read_arguments(said, SUBMISSION)
    if isinstance(fault, Fault):
        return _FOREIGN if fault.name is None else _FIELDS[fault.name]
    modes, is_patient = configuration
    return SendRequest(submission_of(said), modes, is_patient)


def _read_configuration(value: JsonValue) -> tuple[Sequence[str], bool] | RpcError:
    """Which outputs are taken, and whether the end is waited for."""
    if value is None:
        return (), True
    if not isinstance(value, dict):
        return _CONFIGURATION
    if any(value.get(key) is not None for key in _PUSH_KEYS):
        return _NO_PUSH
    at_once = value.get("returnImmediately", False)
    modes = value.get("acceptedOutputModes", [])
    if not isinstance(at_once, bool):
        return _CONFIGURATION
    if not isinstance(modes, list):
        return _MODES
    texts = [mode for mode in modes if isinstance(mode, str)]
    return _MODES if len(texts) < len(modes) else (texts, not at_once)


def _check_message(message: Mapping[str, JsonValue]) -> RpcError | None:
    """What is wrong with a message apart from its part; `parts` then holds one."""
    if message.get("taskId"):
        return _NO_MORE_MESSAGES
    if message.get("contextId"):
        return _OWN_CONTEXT
    if message.get("role", "ROLE_USER") != "ROLE_USER":
        return _ROLE
    parts = message.get("parts")
    return None if isinstance(parts, list) and len(parts) == 1 else _ONE_PART


def _read_part(parts: JsonValue) -> Mapping[str, JsonValue] | RpcError:
    """The object that the one part holds, as data or as text."""
    assert isinstance(parts, list), "checked"
    part = parts[0]
    if not isinstance(part, dict):
        return _ONE_PART
    kind = part.get("mediaType") or _JSON
    if not isinstance(kind, str):
        return _PART_TYPE
    kinds = {"data", "text", "raw", "url"} & part.keys()
    if kinds == {"data"} and _bare(kind) == _JSON:
        data = part["data"]
        return _with_whole_numbers(data) if isinstance(data, dict) else _NO_OBJECT
    text = part.get("text")
    if kinds != {"text"} or _bare(kind) not in {_JSON, "text/plain"} or not isinstance(text, str):
        return _PART_TYPE
    found = read_json_object(text.encode())
    return found if found is not None and is_json(found) else _NO_OBJECT


def _with_whole_numbers(data: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The same with 2 for 2.0: the protocol's own libraries write every number of `data` so."""
    parameters = data.get("parameters")
    if not isinstance(parameters, dict):
        return data
    return {**data, "parameters": {name: _whole(one) for name, one in parameters.items()}}


def _whole(value: JsonValue) -> JsonValue:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_task_id(params: Mapping[str, JsonValue]) -> str | RpcError:
    """The params of the methods that are about one task."""
    given = params.get("id")
    if isinstance(given, str) and 1 <= len(given) <= MAX_TASK_ID_CHARS:
        return given
    return _TASK_ID


def accepts(modes: Sequence[str], media_type: str) -> bool:
    """Whether one of the modes takes this type; no mode at all takes every type."""
    family, _, _ = media_type.partition("/")
    wanted = {"*/*", f"{family}/*", media_type}
    return not modes or any(_bare(mode) in wanted for mode in modes)


def accepts_events(said: Sequence[str]) -> bool:
    """Whether a caller's `Accept` headers take an event stream; none at all does."""
    ranges = [one for line in said for one in line.split(",") if one.strip()]
    return accepts([one for one in ranges if not _is_refused(one)], "text/event-stream") and (
        not ranges or any(not _is_refused(one) for one in ranges)
    )


def _is_refused(one: str) -> bool:
    """Whether a range is there to say that it is not wanted."""
    _, _, weights = one.replace(" ", "").lower().partition(";")
    return any(weight in {"q=0", "q=0.0", "q=0.00", "q=0.000"} for weight in weights.split(";"))


def _bare(media_type: str) -> str:
    """A media type without its parameters."""
    return media_type.partition(";")[0].strip().lower()
