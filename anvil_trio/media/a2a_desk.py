"""A2A: from a body to its answer, or to the task whose life is to be told. Pure.

It starts no task and waits for nothing but the operation service; who follows a task, and for how
long, is the business of whoever serves the connection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

from pydantic import JsonValue

from anvil_trio.media.a2a_requests import (
    A2A_VERSION,
    NO_VERSION,
    OUTPUT_NOT_ACCEPTED,
    UNSUPPORTED,
    SendRequest,
    accepts,
    accepts_events,
    read_send,
    read_task_id,
)
from anvil_trio.media.a2a_tasks import SentTask, TaskShown, show_task
from anvil_trio.media.gateway import Gateway, MediaScope, Reply
from anvil_trio.media.json_rpc import (
    NO_BATCH,
    UNKNOWN_METHOD,
    Message,
    RpcCode,
    RpcError,
    RpcId,
    RpcRefusal,
    read_body,
    render_error,
    render_result,
)
from anvil_trio.media.refusals import SCOPE_DENIED, a2a_error, a2a_failure
from anvil_trio.operations.model import Operation, Refusal, Workflow
from anvil_trio.views.shape import Shape

__all__ = ["A2aDesk", "A2aHeaders", "Answered", "Followed", "Waiting", "refused"]

_STREAMED = frozenset({"SendStreamingMessage", "SubscribeToTask"})
_SCOPES: Mapping[str, MediaScope] = {
    "SendMessage": MediaScope.SUBMIT,
    "SendStreamingMessage": MediaScope.SUBMIT,
    "SubscribeToTask": MediaScope.READ,
    "GetTask": MediaScope.READ,
    "CancelTask": MediaScope.CANCEL,
}
_DENIED = a2a_failure(RpcCode.REFUSED, SCOPE_DENIED.message, SCOPE_DENIED.code)
_ENDED = a2a_failure(
    RpcCode.UNSUPPORTED_OPERATION, "The task has ended: ask for it with GetTask.", "task_ended"
)


@dataclass(frozen=True, slots=True)
class A2aHeaders:
    """What the head of a request says: the versions of A2A that it names, and what it takes."""

    versions: Sequence[str] = ()
    accept: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Followed:
    """The caller is to be told of a task as it goes on, beginning with how it stands now."""

    to: RpcId
    of: SendRequest | Operation  # what is to be run first, or what is there


@dataclass(frozen=True, slots=True)
class Waiting:
    """The caller is to be told of a task when it has ended, or cannot go on alone."""

    to: RpcId
    sent: SendRequest


Answered: TypeAlias = Reply | Followed | Waiting


class A2aDesk:
    """Answers the messages of one gateway's callers."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway

    async def answer(self, body: bytes, said: A2aHeaders) -> Answered:
        """The answer to one body; 202 and nothing for a notification, which asks for none."""
        found = read_body(body)
        if not isinstance(found, Message):
            refusal = found if isinstance(found, RpcRefusal) else RpcRefusal(None, NO_BATCH)
            return refused(refusal.id, refusal.error)
        if found.id is None:
            return Reply(HTTPStatus.ACCEPTED, b"")
        if [*said.versions] != [A2A_VERSION]:
            return refused(found.id, NO_VERSION)
        answer = await self._dispatch(found, found.id, said)
        return refused(found.id, answer) if isinstance(answer, RpcError) else answer

    async def _dispatch(self, item: Message, to: RpcId, said: A2aHeaders) -> Answered | RpcError:
        scope = _SCOPES.get(item.method)
        if scope is None:
            return UNSUPPORTED.get(item.method, UNKNOWN_METHOD)
        if not self.gateway.may(scope):
            return _DENIED
        if scope is MediaScope.SUBMIT:
            return await self._send(item, to, said)
        return await self._about_task(item, to, said)

    async def _send(self, item: Message, to: RpcId, said: A2aHeaders) -> Answered | RpcError:
        wanted = self.check_send(item.params)
        if isinstance(wanted, RpcError):
            return wanted
        if item.method in _STREAMED and accepts_events(said.accept):
            return Followed(to, wanted)
        if item.method in _STREAMED or not wanted.is_patient:
            return await self.told(to, await self.submit(wanted))
        return Waiting(to, wanted)

    def check_send(self, params: Mapping[str, JsonValue]) -> SendRequest | RpcError:
        """A message that may be submitted: what it says can be run, and what comes of it taken."""
        wanted = read_send(params)
        if isinstance(wanted, RpcError):
            return wanted
        asked = wanted.submission
        workflow = self.gateway.operations.workflow(asked.workflow_id, asked.version)
        if isinstance(workflow, Workflow) and not accepts(
            wanted.accepted_modes, workflow.output_media_type
        ):
            return OUTPUT_NOT_ACCEPTED
        return wanted

    async def _about_task(self, item: Message, to: RpcId, said: A2aHeaders) -> Answered | RpcError:
        task_id = read_task_id(item.params)
        if isinstance(task_id, RpcError):
            return task_id
        service, principal = self.gateway.operations, self.gateway.principal
        if item.method == "CancelTask":
            return await self._shown(to, await service.cancel(principal, task_id))
        found = await service.operation(principal, task_id)
        if item.method == "GetTask" or isinstance(found, Refusal):
            return await self._shown(to, found)
        if found.state.terminal:
            return _ENDED
        if accepts_events(said.accept):
            return Followed(to, found)
        return await self.told(to, found)

    async def submit(self, wanted: SendRequest) -> Operation | Refusal:
        """The operation that a message asks for, new or known."""
        return await self.gateway.operations.submit(self.gateway.principal, wanted.submission)

    async def task(self, found: Operation) -> TaskShown:
        """An operation as a task, with what it has made."""
        return show_task(found, await self.gateway.artifacts_of(found), self.gateway.origin)

    async def told(self, to: RpcId, found: Operation | Refusal) -> Reply:
        """The answer to a message: the task that came of it."""
        if isinstance(found, Refusal):
            return refused(to, a2a_error(found))
        return _answered(to, SentTask(task=await self.task(found)))

    async def _shown(self, to: RpcId, found: Operation | Refusal) -> Reply:
        if isinstance(found, Refusal):
            return refused(to, a2a_error(found))
        return _answered(to, await self.task(found))


def refused(to: RpcId | None, error: RpcError) -> Reply:
    """An error: its status is 200, since the transport has done what it was asked."""
    return Reply(HTTPStatus.OK, render_error(to, error), is_refused=True)


def _answered(to: RpcId, shape: Shape) -> Reply:
    return Reply(HTTPStatus.OK, render_result(to, shape))
