"""A2A's messages and their answers, judged by the SDK's own types."""

import json
import random

import pytest
from a2a.types.a2a_pb2 import AgentCard, SendMessageResponse, StreamResponse, Task, TaskState
from google.protobuf import json_format

from anvil_trio.errors import Code, problem
from anvil_trio.media.a2a_desk import A2aDesk, A2aHeaders, Followed, Waiting
from anvil_trio.media.a2a_tasks import TASK_STATES, tell_artifact, tell_status
from anvil_trio.media.agent_card import show_card
from anvil_trio.media.failures import error_of
from anvil_trio.media.gateway import Gateway, Reply
from anvil_trio.media.json_rpc import INTERNAL, RpcCode, render_result
from anvil_trio.operations.model import Event, Operation, Refusal, RefusalCode, State
from tests.support.fake_operations import FILM, PAINT, PRINCIPAL, FakeOperations, submission
from tests.unit.media.test_a2a_requests import DATA, params

ORIGIN = "https://media.test"
SAID = A2aHeaders(["1.0"], ["text/event-stream"])
PLAIN = A2aHeaders(["1.0"], ["application/json"])
AT_ONCE = {"returnImmediately": True}
ALL_SCOPES = frozenset({"media:read", "media:submit", "media:cancel"})


def parsed(kind, document):
    """A result as the SDK reads it: nothing in it is unknown to the protocol."""
    return json_format.ParseDict(document, kind())


class Desk:
    """A desk over a service in memory."""

    def __init__(self, scopes=ALL_SCOPES):
        self.service = FakeOperations()
        self.desk = A2aDesk(Gateway(self.service, PRINCIPAL, scopes, ORIGIN, "9.9"))

    async def ask(self, method, given, said=PLAIN):
        body = {"jsonrpc": "2.0", "id": "q", "method": method, "params": given}
        return await self.desk.answer(json.dumps(body).encode(), said)

    async def result(self, method, given, said=PLAIN):
        reply = await self.ask(method, given, said)
        assert isinstance(reply, Reply), reply
        assert (reply.status, reply.is_refused) == (200, False)
        return json.loads(reply.body)["result"]

    async def error(self, method, given, said=PLAIN):
        reply = await self.ask(method, given, said)
        assert isinstance(reply, Reply), reply
        assert (reply.status, reply.is_refused) == (200, True)
        document = json.loads(reply.body)
        assert document["id"] == "q"
        return document["error"]["code"]

    async def send(self, part=None, **more):
        return await self.result("SendMessage", params(part, {**AT_ONCE, **more}))


@pytest.fixture
def desk():
    """A desk that may do everything."""
    return Desk()


async def test_a_message_becomes_a_task(desk):
    """The SDK reads it, and a second time it is the same task."""
    sent = await desk.send()
    task = parsed(SendMessageResponse, sent).task
    assert task.status.state == TaskState.TASK_STATE_SUBMITTED
    assert task.context_id == task.id
    assert sent["task"]["metadata"] == {
        "sequence": 1,
        "workflow": {"id": "paint", "version": "2"},
        "jobState": "accepted",
        "latency": {},
    }
    assert (await desk.send())["task"]["id"] == task.id
    assert len(desk.service.stored) == 1


async def test_a_task_in_full(desk):
    """With what it made, how long it took, and its profile."""
    sent = await desk.send({"data": {**DATA, "qualityProfile": "draft"}})
    task_id = sent["task"]["id"]
    artifact = desk.service.keep(b"png", task_id)
    desk.service.move(task_id, State.PREPARING, State.RUNNING, State.COMPLETED)
    shown = await desk.result("GetTask", {"id": task_id})
    task = parsed(Task, shown)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert shown["status"]["timestamp"] == "1970-01-01T00:16:43.000Z"
    assert shown["metadata"]["latency"] == {"submittedMs": 1000, "startedMs": 2000, "endedMs": 3000}
    assert shown["metadata"]["qualityProfile"] == "draft"
    assert "failureCode" not in shown["metadata"]
    assert shown["artifacts"] == [
        {
            "artifactId": artifact.id,
            "parts": [{"url": f"{ORIGIN}/artifacts/{artifact.id}", "mediaType": "image/png"}],
            "metadata": {"size": 3, "expiresAt": "1970-01-01T01:16:40.000Z"},
        }
    ]


async def test_a_task_that_failed_says_why(desk):
    """In a fixed word."""
    task_id = (await desk.send())["task"]["id"]
    desk.service.move(task_id, State.FAILED)
    shown = await desk.result("GetTask", {"id": task_id})
    assert shown["status"]["state"] == "TASK_STATE_FAILED"
    assert shown["metadata"]["failureCode"] == "timed_out"


@pytest.mark.parametrize("state", State)
def test_every_state_has_its_word(state):
    """Also in a stream; what A2A does not tell apart is told beside it."""
    event = Event("op", 3, state, 1000.0)
    document = json.loads(render_result("q", tell_status(event)))["result"]
    update = parsed(StreamResponse, document).status_update
    assert TaskState.Name(update.status.state) == TASK_STATES[state]
    assert document["statusUpdate"]["metadata"] == {"sequence": 3, "jobState": state.value}


def test_an_artifact_in_a_stream():
    """It is told whole, once."""
    artifact = FakeOperations().keep(b"png", "op")
    document = json.loads(render_result("q", tell_artifact(artifact, ORIGIN)))["result"]
    update = parsed(StreamResponse, document).artifact_update
    assert (update.task_id, update.artifact.artifact_id) == ("op", artifact.id)
    assert (update.append, update.last_chunk) == (False, True)


async def test_a_task_is_canceled_once(desk):
    """-32002 when it has ended."""
    task_id = (await desk.send())["task"]["id"]
    canceled = await desk.result("CancelTask", {"id": task_id})
    assert parsed(Task, canceled).status.state == TaskState.TASK_STATE_CANCELED
    assert await desk.error("CancelTask", {"id": task_id}) == -32002


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask"])
async def test_a_task_that_is_not_there(method, desk):
    """-32001, also where it is another principal's."""
    theirs = desk.service.add("somebody", submission())
    assert await desk.error(method, {"id": "other"}) == -32001
    assert await desk.error(method, {"id": theirs.id}) == -32001
    assert await desk.error(method, {}) == -32602


async def test_who_waits(desk):
    """A message is answered when its task has ended, unless its sender will not wait."""
    waiting = await desk.ask("SendMessage", params())
    assert isinstance(waiting, Waiting)
    assert (waiting.to, waiting.sent.submission.workflow_id) == ("q", "paint")
    assert not desk.service.submissions


async def test_who_follows(desk):
    """A stream is for whoever takes one; others are told how the task stands."""
    followed = await desk.ask("SendStreamingMessage", params(), SAID)
    assert isinstance(followed, Followed)
    assert not isinstance(followed.of, Operation)
    sent = await desk.result("SendStreamingMessage", params(), PLAIN)
    task_id = parsed(StreamResponse, sent).task.id
    followed = await desk.ask("SubscribeToTask", {"id": task_id}, SAID)
    assert isinstance(followed, Followed)
    assert isinstance(followed.of, Operation)
    shown = await desk.result("SubscribeToTask", {"id": task_id}, PLAIN)
    assert parsed(StreamResponse, shown).task.id == task_id
    desk.service.move(task_id, State.CANCELED)
    assert await desk.error("SubscribeToTask", {"id": task_id}, SAID) == -32004


async def test_an_output_that_is_not_taken(desk):
    """-32005 before anything is run."""
    refused = {"acceptedOutputModes": ["text/plain"]}
    assert await desk.error("SendMessage", params(configuration=refused)) == -32005
    assert not desk.service.submissions
    assert "task" in await desk.send(acceptedOutputModes=["image/*"])


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (RefusalCode.UNKNOWN_WORKFLOW, -32602),
        (RefusalCode.PARAMETER_INVALID, -32602),
        (RefusalCode.IDEMPOTENCY_CONFLICT, -32602),
        (RefusalCode.BUSY, -32010),
        (RefusalCode.UNAVAILABLE, -32010),
    ],
)
async def test_a_refused_submission(code, number, desk):
    """What is wrong with it is about its params; a service that cannot is not."""
    desk.service.refusal = Refusal(code)
    assert await desk.error("SendMessage", params(configuration=AT_ONCE)) == number


async def test_an_unknown_workflow_is_the_services_to_refuse(desk):
    """What it would make is not known, so no mode is in its way."""
    part = {"data": {**DATA, "workflowId": "other"}}
    modes = {**AT_ONCE, "acceptedOutputModes": ["text/plain"]}
    assert await desk.error("SendMessage", params(part, modes)) == -32602


@pytest.mark.parametrize("versions", [[], ["0.3"], ["1.0", "1.0"], ["1.0.0"], [""]])
async def test_the_version_is_said(versions, desk):
    """Without the header it would be 0.3, which is not spoken: -32009."""
    said = A2aHeaders(versions, [])
    assert await desk.error("GetTask", {"id": "x"}, said) == -32009


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("ListTasks", -32004),
        ("GetExtendedAgentCard", -32004),
        ("CreateTaskPushNotificationConfig", -32003),
        ("GetTaskPushNotificationConfig", -32003),
        ("ListTaskPushNotificationConfigs", -32003),
        ("DeleteTaskPushNotificationConfig", -32003),
        ("message/send", -32601),
        ("kanarie", -32601),
    ],
)
async def test_methods_that_there_are_not(method, code, desk):
    """Those of A2A that are not done here, and those of nobody."""
    assert await desk.error(method, {}) == code


@pytest.mark.parametrize(
    ("method", "scope"),
    [
        ("SendMessage", "media:submit"),
        ("SendStreamingMessage", "media:submit"),
        ("SubscribeToTask", "media:read"),
        ("GetTask", "media:read"),
        ("CancelTask", "media:cancel"),
    ],
)
async def test_a_method_needs_its_scope(method, scope):
    """Without it nothing is asked of the service; with it the params are looked at."""
    assert await Desk(ALL_SCOPES - {scope}).error(method, params()) == -32010
    assert await Desk(frozenset({scope})).error(method, {}) == -32602


async def test_a_body_is_one_message(desk):
    """No batch; a notification is taken and nothing is run; what is no JSON is -32700."""
    reply = await desk.desk.answer(b'[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', PLAIN)
    assert isinstance(reply, Reply)
    assert json.loads(reply.body)["error"]["code"] == -32600
    note = {"jsonrpc": "2.0", "method": "SendMessage", "params": params(configuration=AT_ONCE)}
    reply = await desk.desk.answer(json.dumps(note).encode(), PLAIN)
    assert reply == Reply(202, b"")
    assert not desk.service.submissions
    reply = await desk.desk.answer(b"{", PLAIN)
    assert isinstance(reply, Reply)
    assert json.loads(reply.body)["error"]["code"] == -32700


async def test_hostile_messages_are_answered_in_json_rpc():
    """Thousands of broken bodies: an answer each, nothing raises."""
    chance = random.Random(20261130)
    desk = Desk()
    pieces: list[object] = [
        None,
        True,
        1,
        1.5,
        2**63,
        "",
        "x",
        [],
        {},
        [[]],
        DATA,
        {"data": DATA},
        {"text": "{}"},
    ]
    keys = [
        "message",
        "parts",
        "role",
        "configuration",
        "id",
        "contextId",
        "data",
        "acceptedOutputModes",
    ]
    seen = set()
    for _ in range(3000):
        document = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params()}
        document["method"] = chance.choice(["SendMessage", "GetTask", "SubscribeToTask", "x"])
        where = chance.choice([document, document["params"], document["params"]["message"]])
        where[chance.choice([*keys, "params", "method", "jsonrpc"])] = chance.choice(pieces)
        body = bytearray(json.dumps(document).encode())
        if chance.random() < 0.2:
            body[chance.randrange(len(body))] = chance.randrange(256)
        answer = await desk.desk.answer(bytes(body), chance.choice([PLAIN, SAID, A2aHeaders()]))
        if isinstance(answer, Reply) and answer.body:
            found = json.loads(answer.body)
            seen.add(found["error"]["code"] if "error" in found else 0)
    assert {-32700, -32600, -32601, -32602, -32001, -32009} <= seen


def test_the_card_is_a_card():
    """The SDK reads all of it; two versions of a workflow are two skills."""
    shown = json.loads(render_result("q", show_card([PAINT, FILM], ORIGIN, "9.9")))["result"]
    card = parsed(AgentCard, shown)
    [interface] = card.supported_interfaces
    assert interface.url == f"{ORIGIN}/a2a"
    assert (interface.protocol_binding, interface.protocol_version) == ("JSONRPC", "1.0")
    assert card.version == "9.9"
    assert shown["capabilities"] == {
        "streaming": True,
        "pushNotifications": False,
        "extendedAgentCard": False,
    }
    assert card.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
    assert card.security_schemes["apiKey"].api_key_security_scheme.name == "x-api-key"
    named = [[*one.schemes] for one in card.security_requirements]
    assert named == [["bearer"], ["apiKey"]]
    assert shown["defaultInputModes"] == ["application/json"]
    assert shown["defaultOutputModes"] == ["image/png", "video/mp4"]
    assert [(one.id, one.description) for one in card.skills] == [
        ("paint@2", "Paints a picture."),
        ("film@1", "Film"),
    ]
    assert [*card.skills[1].tags] == ["media", "video"]
    assert [*card.skills[0].output_modes] == ["image/png"]


@pytest.mark.parametrize("code", Code)
def test_what_went_wrong_outside_a_message(code):
    """It is told by its word; what is nobody's fault but ours is an internal error."""
    error = error_of(problem(code))
    if error is not INTERNAL:
        assert error.data == {"code": code.value}
        assert error.code in {RpcCode.INVALID_REQUEST, RpcCode.REFUSED}
    assert error_of(problem(Code.INTERNAL_ERROR)) is INTERNAL
    assert error_of(problem(Code.SERVER_BUSY)).code is RpcCode.REFUSED
