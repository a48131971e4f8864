"""MCP's messages and their answers, in both manners, judged by the protocol's own types."""

import json
import random

import jsonschema
import pytest
from mcp_types import methods

from anvil_trio.media.gateway import Gateway
from anvil_trio.media.mcp_desk import McpDesk
from anvil_trio.media.mcp_manner import CLASSIC, STATELESS, McpHeaders
from anvil_trio.media.mcp_tools import TOOLS
from anvil_trio.operations.model import Refusal, RefusalCode, State
from tests.support.fake_operations import PRINCIPAL, FakeOperations

META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}
NOTHING = McpHeaders()
ALL_SCOPES = frozenset({"media:read", "media:submit", "media:cancel"})
RUN = {
    "workflowId": "paint",
    "version": "2",
    "parameters": {"prompt": "a cat"},
    "idempotencyKey": "key-1",
}


class Desk:
    """A desk over a service in memory, spoken to in one version."""

    def __init__(self, version=STATELESS, scopes=ALL_SCOPES):
        self.service = FakeOperations()
        self.version = version
        gateway = Gateway(self.service, PRINCIPAL, scopes, "https://media.test", "9.9")
        self.desk = McpDesk(gateway)

    async def post(self, body, said=None):
        if said is None:
            said = McpHeaders([self.version])
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.desk.answer(data, said)

    def request(self, method, **params):
        if self.version == STATELESS:
            params["_meta"] = META
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    async def ask(self, method, **params):
        reply = await self.post(self.request(method, **params))
        return reply, json.loads(reply.body)

    async def result(self, method, **params):
        reply, document = await self.ask(method, **params)
        assert reply.status == 200
        assert not reply.is_refused
        methods.validate_server_result(method, self.version, document["result"])
        return document["result"]

    async def error(self, method, **params):
        reply, document = await self.ask(method, **params)
        assert reply.is_refused
        assert document["id"] == 1
        return reply.status, document["error"]

    async def call(self, name, **arguments):
        result = await self.result("tools/call", name=name, arguments=arguments)
        content = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == content
        if not result["isError"]:
            schema = TOOLS[name].described()["outputSchema"]
            jsonschema.Draft202012Validator(schema).validate(content)
        return result["isError"], content


@pytest.fixture(params=[STATELESS, *CLASSIC])
def desk(request):
    """A desk in each version."""
    return Desk(request.param)


async def test_the_tools_are_listed(desk):
    """Eight of them, each with the schema of what it takes and of what it answers."""
    tools = {tool["name"]: tool for tool in (await desk.result("tools/list"))["tools"]}
    assert list(tools) == [
        "media_capabilities",
        "media_workflow_list",
        "media_workflow_show",
        "media_workflow_validate",
        "media_workflow_run",
        "media_job_status",
        "media_job_cancel",
        "media_artifact_inspect",
    ]
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["outputSchema"]["type"] == "object"
    hints = {name: tool["annotations"]["readOnlyHint"] for name, tool in tools.items()}
    assert [name for name, is_safe in hints.items() if not is_safe] == [
        "media_workflow_run",
        "media_job_cancel",
    ]
    assert tools["media_job_cancel"]["annotations"]["destructiveHint"] is True


async def test_a_job_from_its_list_to_its_artifact(desk):
    """Every tool in the order in which a caller needs them."""
    assert (await desk.call("media_capabilities"))[1]["scopes"] == sorted(ALL_SCOPES)
    listed = (await desk.call("media_workflow_list"))[1]["workflows"]
    assert [(one["id"], one["version"]) for one in listed] == [
        ("paint", "1"),
        ("paint", "2"),
        ("film", "1"),
    ]
    assert (await desk.call("media_workflow_show", workflowId="paint"))[1]["version"] == "2"
    old = await desk.call("media_workflow_show", workflowId="paint", version="1")
    assert old[1]["version"] == "1"
    dry = {key: value for key, value in RUN.items() if key != "idempotencyKey"}
    is_error, found = await desk.call("media_workflow_validate", **dry)
    assert (is_error, found["isValid"]) == (False, True)
    is_error, job = await desk.call("media_workflow_run", **RUN)
    assert (is_error, job["state"], job["isTerminal"]) == (False, "accepted", False)
    assert (await desk.call("media_workflow_run", **RUN))[1]["jobId"] == job["jobId"]
    artifact = desk.service.keep(b"png", job["jobId"])
    desk.service.move(job["jobId"], State.PREPARING, State.RUNNING, State.COMPLETED)
    _, ended = await desk.call("media_job_status", jobId=job["jobId"])
    assert (ended["state"], ended["isTerminal"]) == ("completed", True)
    _, inspected = await desk.call("media_artifact_inspect", artifactId=artifact.id)
    assert [inspected] == ended["artifacts"]
    assert inspected["url"] == f"https://media.test/artifacts/{artifact.id}"


async def test_a_job_is_canceled_once(desk):
    """The second time it has ended already, which is no error of the protocol."""
    _, job = await desk.call("media_workflow_run", **RUN)
    is_error, canceled = await desk.call("media_job_cancel", jobId=job["jobId"])
    assert (is_error, canceled["state"]) == (False, "canceled")
    is_error, found = await desk.call("media_job_cancel", jobId=job["jobId"])
    assert (is_error, found["code"]) == (True, "operation_not_cancelable")


async def test_an_artifact_that_has_gone_is_left_out(desk):
    """A job is still shown when what it made has expired."""
    _, job = await desk.call("media_workflow_run", **RUN)
    artifact = desk.service.keep(b"png", job["jobId"])
    del desk.service.kept[artifact.id]
    assert (await desk.call("media_job_status", jobId=job["jobId"]))[1]["artifacts"] == []


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("media_workflow_show", {"workflowId": "other"}, "unknown_workflow"),
        ("media_workflow_show", {"workflowId": "paint", "version": "9"}, "unknown_version"),
        ("media_workflow_run", {**RUN, "parameters": {}}, "parameter_required"),
        ("media_workflow_run", {**RUN, "parameters": {"kanarie": 1}}, "parameter_unknown"),
        ("media_job_status", {"jobId": "other"}, "operation_not_found"),
        ("media_job_cancel", {"jobId": "other"}, "operation_not_found"),
        ("media_artifact_inspect", {"artifactId": "other"}, "artifact_not_found"),
        ("media_job_status", {"kanarie": 1}, "argument_unknown"),
        ("media_job_status", {}, "argument_invalid"),
        ("media_job_status", {"jobId": ["kanarie"]}, "argument_invalid"),
    ],
)
async def test_a_tool_says_why_not(name, arguments, code, desk):
    """As a result that a model can read, in fixed words, with nothing that was sent."""
    is_error, found = await desk.call(name, **arguments)
    assert (is_error, found["code"]) == (True, code)
    assert "kanarie" not in json.dumps(found)


async def test_a_dry_run_says_why_not(desk):
    """That a submission would be refused is no error of the dry run."""
    asked = {**RUN, "parameters": {}}
    is_error, found = await desk.call("media_workflow_validate", **asked)
    assert not is_error
    assert found == {"isValid": False, "code": "parameter_required", "field": "prompt"}
    assert not desk.service.submissions


async def test_a_service_that_is_not_there(desk):
    """Is told as such by every tool that asks it."""
    desk.service.refusal = Refusal(RefusalCode.UNAVAILABLE)
    for name, arguments in (
        ("media_workflow_run", RUN),
        ("media_job_status", {"jobId": "x"}),
        ("media_job_cancel", {"jobId": "x"}),
        ("media_artifact_inspect", {"artifactId": "x"}),
    ):
        is_error, found = await desk.call(name, **arguments)
        assert (is_error, found["code"]) == (True, "unavailable")


@pytest.mark.parametrize(("name", "tool"), TOOLS.items())
async def test_a_tool_needs_its_scope(name, tool):
    """Without it the service is not even asked."""
    desk = Desk(scopes=ALL_SCOPES - {tool.scope})
    is_error, found = await desk.call(name, **RUN)
    assert (is_error, found["code"]) == (True, "authorization_scope_denied")
    desk = Desk(scopes=frozenset({tool.scope}))
    _, found = await desk.call(name, other=1)
    assert found.get("code") != "authorization_scope_denied"


@pytest.mark.parametrize("name", ["other", 5, None, "kanarie"])
async def test_an_unknown_tool(name, desk):
    """-32602 with a word of its own; the name does not come back."""
    status, error = await desk.error("tools/call", name=name, arguments={})
    assert (error["code"], error["data"]["code"]) == (-32602, "unknown_tool")
    assert status == (400 if desk.version == STATELESS else 200)
    assert "kanarie" not in json.dumps(error)


async def test_arguments_are_an_object(desk):
    """Left out they are an empty one."""
    _, error = await desk.error("tools/call", name="media_capabilities", arguments=[])
    assert error["code"] == -32602
    assert not (await desk.result("tools/call", name="media_capabilities"))["isError"]


async def test_there_is_one_page(desk):
    """A cursor is none of ours."""
    _, error = await desk.error("tools/list", cursor="x")
    assert (error["code"], error["data"]["code"]) == (-32602, "unknown_cursor")


async def test_an_unknown_method(desk):
    """-32601; a 404 only in the manner in which clients expect one."""
    status, error = await desk.error("resources/list")
    assert error["code"] == -32601
    assert status == (404 if desk.version == STATELESS else 200)


async def test_what_a_stateless_answer_says():
    """That it is complete, and whose it is."""
    desk = Desk()
    for method in ("server/discover", "tools/list"):
        result = await desk.result(method)
        assert result["resultType"] == "complete"
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == "9.9"
    discovered = await desk.result("server/discover")
    assert discovered["supportedVersions"] == [STATELESS, *reversed(CLASSIC)]
    called = await desk.result("tools/call", name="media_capabilities", arguments={})
    assert called["resultType"] == "complete"


@pytest.mark.parametrize("method", ["initialize", "ping"])
async def test_a_handshake_is_no_stateless_method(method):
    """Nor is `ping`."""
    assert (await Desk().error(method))[1]["code"] == -32601


@pytest.mark.parametrize("version", CLASSIC)
async def test_a_handshake(version):
    """The answer names the version; only for one without a header it comes with a session id."""
    desk = Desk(version)
    body = desk.request("initialize", protocolVersion=version, capabilities={}, clientInfo={})
    reply = await desk.post(body, NOTHING)
    result = json.loads(reply.body)["result"]
    methods.validate_server_result("initialize", version, result)
    assert result["protocolVersion"] == version
    assert "resultType" not in result
    names = [name for name, _ in reply.headers]
    assert names == ([b"mcp-session-id"] if version < "2025-06-18" else [])
    assert await desk.result("ping") == {}
    assert (await desk.error("server/discover"))[1]["code"] == -32601


async def test_a_handshake_without_a_version():
    """Is refused, and gives no session."""
    desk = Desk(CLASSIC[0])
    reply = await desk.post(desk.request("initialize"), NOTHING)
    assert json.loads(reply.body)["error"]["code"] == -32602
    assert not reply.headers


@pytest.mark.parametrize("method", ["notifications/initialized", "tools/call", "anything"])
async def test_a_notification_is_taken_and_not_answered(method):
    """202 and nothing, whatever it says; it runs nothing."""
    desk = Desk()
    params = {"name": "media_workflow_run", "arguments": RUN}
    reply = await desk.post({"jsonrpc": "2.0", "method": method, "params": params}, NOTHING)
    assert (reply.status, reply.body, reply.is_refused) == (202, b"", False)
    assert not desk.service.submissions


async def test_a_null_id_is_no_request():
    """-32600, with a status that says so."""
    reply = await Desk().post({"jsonrpc": "2.0", "id": None, "method": "tools/list"})
    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (400, -32600)
    assert json.loads(reply.body)["id"] is None


async def test_a_batch_of_the_older_versions():
    """Each request is answered in its place, notifications are not, and a handshake is refused."""
    desk = Desk("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ping = {**desk.request("ping"), "id": "p"}
    shake = {**desk.request("initialize", protocolVersion="2025-03-26"), "id": "i"}
    reply = await desk.post([note, ping, 5, shake])
    answers = json.loads(reply.body)
    assert reply.status == 200
    assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [
        ("p", None),
        (None, -32600),
        ("i", -32600),
    ]
    assert (await desk.post([note, note])).status == 202
    assert (await desk.post([ping], McpHeaders(has_session=True))).status == 200


@pytest.mark.parametrize("said", [NOTHING, McpHeaders([STATELESS]), McpHeaders(["2025-06-18"])])
async def test_no_batch_elsewhere(said):
    """The newer versions have one message in a body."""
    reply = await Desk().post([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], said)
    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (400, -32600)


PIECES: list[object] = [
    None, True, 0, -1, 1.5, 2**63, "", "x", "2.0", "tools/call", "tools/list", "initialize", "ping",
    "server/discover", "media_workflow_run", "media_job_status", [], {}, [[]], META, RUN,
    {"_meta": META}, {"name": "media_workflow_run", "arguments": RUN, "_meta": META}, "\ud800",
]  # fmt: skip
KEYS = ["jsonrpc", "id", "method", "params", "_meta", "name", "arguments", "cursor", "workflowId"]


def fuzzed(chance):
    """A body that is nearly right, or not at all."""
    document = Desk().request("tools/call", name="media_workflow_run", arguments=dict(RUN))
    for _ in range(chance.randrange(4)):
        where = chance.choice(
            [document, document["params"]]
            if isinstance(document.get("params"), dict)
            else [document]
        )
        if chance.random() < 0.3:
            where.pop(chance.choice(KEYS), None)
        else:
            where[chance.choice(KEYS)] = chance.choice(PIECES)
    if chance.random() < 0.1:
        document = [document] * chance.randrange(3)
    body = bytearray(json.dumps(document).encode("utf-8"))
    for _ in range(chance.randrange(3) if chance.random() < 0.3 else 0):
        body[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(body)


async def test_hostile_messages_are_answered_in_json_rpc():
    """Thousands of broken bodies with odd headers: a message of JSON-RPC each, nothing raises."""
    chance = random.Random(20261130)
    desk = Desk()
    seen = set()
    for _ in range(4000):
        body = fuzzed(chance)
        said = McpHeaders(
            versions=chance.choices(
                ["2026-07-28", "2025-03-26", "x"], k=chance.choice([0, 1, 1, 2])
            ),
            methods=chance.choices(["tools/call", "x"], k=chance.choice([0, 0, 0, 1])),
            names=chance.choices(
                ["media_workflow_run", "=?base64?x?="], k=chance.choice([0, 0, 1])
            ),
            has_session=chance.random() < 0.2,
        )
        reply = await desk.post(body, said)
        assert reply.status in {200, 202, 400, 404}
        if not reply.body:
            assert reply.status == 202
            continue
        found = json.loads(reply.body)
        for one in found if isinstance(found, list) else [found]:
            assert one["jsonrpc"] == "2.0"
            assert "result" in one or isinstance(one["error"]["code"], int)
            seen.add(one["error"]["code"] if "error" in one else 0)
    assert seen == {0, -32700, -32600, -32601, -32602, -32020, -32022}
