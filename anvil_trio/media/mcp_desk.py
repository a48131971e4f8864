"""MCP: from a body to its answer. It starts no task and keeps nothing between two requests. Pure.

A tool's own refusal is a result that says so, which a model can read and act upon; an error of the
protocol is one only where the message itself is wrong.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import TypeAlias
from uuid import uuid4

from pydantic import JsonValue

from anvil_trio.media.arguments import Fault, read_arguments, submission_of
from anvil_trio.media.gateway import Gateway, Reply
from anvil_trio.media.json_rpc import (
    INVALID_REQUEST,
    NO_BATCH,
    UNKNOWN_METHOD,
    Batch,
    Message,
    RpcError,
    RpcRefusal,
    invalid_params,
    read_body,
    render_error,
    render_result,
)
from anvil_trio.media.mcp_answers import McpAnswers, status_of
from anvil_trio.media.mcp_manner import (
    Manner,
    McpHeaders,
    agreed_version,
    manner_of,
    needs_session,
    takes_batches,
)
from anvil_trio.media.mcp_tools import TOOLS, Tool
from anvil_trio.media.refusals import SCOPE_DENIED, RefusalShown, show_refusal
from anvil_trio.media.shown import (
    show_artifact,
    show_capabilities,
    show_job,
    show_validation,
    show_workflow,
    show_workflows,
)
from anvil_trio.operations.model import Operation, Refusal
from anvil_trio.views.shape import Shape

__all__ = ["McpDesk"]

Arguments: TypeAlias = Mapping[str, JsonValue]
Answer: TypeAlias = Shape | Refusal

_UNKNOWN_TOOL = invalid_params("There is no such tool.", "unknown_tool")
_NO_ARGUMENTS = invalid_params("`arguments` must be an object.")
_ONE_PAGE = invalid_params("There is one page of tools, and no cursor.", "unknown_cursor")


class McpDesk:
    """Answers the messages of one gateway's callers."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._answers = McpAnswers(gateway.version)
        self._tools: Mapping[str, Callable[[Arguments], Awaitable[Answer]]] = MappingProxyType({
            "media_capabilities": self._capabilities,
            "media_workflow_list": self._list,
            "media_workflow_show": self._show,
            "media_workflow_validate": self._validate,
            "media_workflow_run": self._run,
            "media_job_status": self._status,
            "media_job_cancel": self._cancel,
            "media_artifact_inspect": self._inspect,
        })

    async def answer(self, body: bytes, said: McpHeaders) -> Reply:
        """The answer to one body: 202 and nothing if there is no request in it."""
        found = read_body(body)
        if not isinstance(found, Batch):
            return await self._one(found, said)
        if not takes_batches(said):
            return _refused(None, NO_BATCH, None)
        replies = [await self._in_batch(item, said) for item in found.items]
        said_back = [reply.body for reply in replies if reply.body]
        if not said_back:
            return Reply(HTTPStatus.ACCEPTED, b"")
        return Reply(HTTPStatus.OK, b"[" + b",".join(said_back) + b"]")

    async def _in_batch(self, item: Message | RpcRefusal, said: McpHeaders) -> Reply:
        if isinstance(item, Message) and item.method == "initialize":
            item = RpcRefusal(item.id, INVALID_REQUEST)  # a handshake comes first, and alone
        return await self._one(item, said)

    async def _one(self, item: Message | RpcRefusal, said: McpHeaders) -> Reply:
        if isinstance(item, RpcRefusal):
            return _refused(item.id, item.error, None)
        if item.id is None:
            return Reply(HTTPStatus.ACCEPTED, b"")
        manner = manner_of(item, said)
        if isinstance(manner, RpcError):
            return _refused(item.id, manner, None)
        result = await self._dispatch(item, manner)
        if isinstance(result, RpcError):
            return _refused(item.id, result, manner)
        return Reply(HTTPStatus.OK, render_result(item.id, result), _session(item, result))

    async def _dispatch(self, item: Message, manner: Manner) -> dict[str, JsonValue] | RpcError:
        match item.method, manner.is_stateless:
            case "tools/call", _:
                return await self._call(item.params, manner)
            case "tools/list", _:
                return _ONE_PAGE if item.params.get("cursor") else self._answers.listed(manner)
            case "server/discover", True:
                return self._answers.discovered()
            case "ping", False:
                return {}
            case "initialize", False:
                return self._shake_hands(item.params)
        return UNKNOWN_METHOD

    def _shake_hands(self, params: Arguments) -> dict[str, JsonValue] | RpcError:
        version = agreed_version(params)
        return version if isinstance(version, RpcError) else self._answers.initialized(version)

    async def _call(self, params: Arguments, manner: Manner) -> dict[str, JsonValue] | RpcError:
        name, arguments = params.get("name"), params.get("arguments")
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            return _UNKNOWN_TOOL
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            return _NO_ARGUMENTS
        shown = await self._use(tool, arguments)
        is_error = isinstance(shown, RefusalShown)
        return self._answers.called(manner, shown, is_error=is_error)

    async def _use(self, tool: Tool, arguments: Arguments) -> Shape:
        if not self._gateway.may(tool.scope):
            return SCOPE_DENIED
        fault = read_arguments(arguments, tool.arguments)
        if fault is not None:
            return _show_fault(fault)
        answer = await self._tools[tool.name](arguments)
        return show_refusal(answer) if isinstance(answer, Refusal) else answer

    # the tools

    async def _capabilities(self, _given: Arguments) -> Answer:
        return show_capabilities(self._gateway.operations.capabilities(), [*self._gateway.scopes])

    async def _list(self, _given: Arguments) -> Answer:
        return show_workflows(self._gateway.operations.workflows())

    async def _show(self, given: Arguments) -> Answer:
        version = given.get("version")
        found = self._gateway.operations.workflow(
            str(given["workflowId"]), None if version is None else str(version)
        )
        return found if isinstance(found, Refusal) else show_workflow(found)

    async def _validate(self, given: Arguments) -> Answer:
        return show_validation(self._gateway.operations.validate(submission_of(given)))

    async def _run(self, given: Arguments) -> Answer:
        gateway = self._gateway
        return await self._job(
            await gateway.operations.submit(gateway.principal, submission_of(given))
        )

    async def _status(self, given: Arguments) -> Answer:
        gateway = self._gateway
        return await self._job(
            await gateway.operations.operation(gateway.principal, str(given["jobId"]))
        )

    async def _cancel(self, given: Arguments) -> Answer:
        gateway = self._gateway
        return await self._job(
            await gateway.operations.cancel(gateway.principal, str(given["jobId"]))
        )

    async def _inspect(self, given: Arguments) -> Answer:
        gateway = self._gateway
        found = await gateway.operations.artifact(gateway.principal, str(given["artifactId"]))
        return found if isinstance(found, Refusal) else show_artifact(found, gateway.origin)

    async def _job(self, found: Operation | Refusal) -> Answer:
        if isinstance(found, Refusal):
            return found
        return show_job(found, await self._gateway.artifacts_of(found), self._gateway.origin)


def _refused(to: str | int | None, error: RpcError, manner: Manner | None) -> Reply:
    status = status_of(error.code, manner)
    return Reply(status, render_error(to, error), is_refused=True)


def _session(item: Message, result: Mapping[str, JsonValue]) -> tuple[tuple[bytes, bytes], ...]:
    """A session id for a client that will have no other way to say that it has shaken hands."""
    if item.method != "initialize" or not needs_session(str(result["protocolVersion"])):
        return ()
    return ((b"mcp-session-id", uuid4().hex.encode()),)


def _show_fault(fault: Fault) -> RefusalShown:
    if fault.name is None:
        return RefusalShown(
            code="argument_unknown",
            message="The tool has no argument of a name that was given.",
            field=None,
        )
    return RefusalShown(
        code="argument_invalid",
        message="An argument is missing or not of its kind.",
        field=fault.name,
    )
