"""What hypercorn calls a task group: one connection's application tasks and what they send."""

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from functools import partial
from typing import TypeAlias, cast

import outcome
import trio

from anvil_trio.server.asgi import Scope, TypedApp
from anvil_trio.server.channel import Channel
from anvil_trio.server.hypercorn_names import (
    AppWrapper,
    ASGIReceiveEvent,
    ASGISendEvent,
    Config,
    TaskGroup,
)
from anvil_trio.server.hypercorn_names import Scope as HypercornScope
from anvil_trio.server.inbox import Inbox
from anvil_trio.server.log import ServerLog

__all__ = ["EXTENSION", "Tasks", "inbox_of"]

EXTENSION = "anvil.client"
"""The key of the `Inbox` in `scope["extensions"]`."""

_Send = Callable[[ASGISendEvent | None], Awaitable[None]]


_Job: TypeAlias = tuple[Scope, Inbox, _Send]
"""One request for an application task."""


class Tasks(TaskGroup):
    """Hypercorn's task group over one connection's nursery.

    A task that has served its request rests until the connection's next one, which gets a fresh
    context as a new task would: starting a task costs more than some whole requests have left.

    A message that an application sends is handed over as a whole, and only then is the client
    waited for. So a cancelled send is complete: a last part never lacks its end, a head is never
    sent twice. Hypercorn would wait in the middle.
    """

    def __init__(
        self,
        app: TypedApp,
        nursery: trio.Nursery,
        channel: Channel,
        log: ServerLog,
    ) -> None:
        self._app = app
        self._nursery = nursery
        self._channel = channel
        self._log = log
        self._inboxes: list[Inbox] = []
        self._resting: trio.lowlevel.Task | None = None
        self._is_over = False

    async def __aenter__(self) -> TaskGroup:
        """Hypercorn's server enters its group; ours lives in a nursery that is open already."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to close."""

    async def spawn_app(
        self,
        app: AppWrapper,  # noqa: ARG002 - hypercorn's signature; it is ours in hypercorn's wrapping
        config: Config,  # noqa: ARG002 - hypercorn's signature
        scope: HypercornScope,
        send: _Send,
    ) -> Callable[[ASGIReceiveEvent], Awaitable[None]]:
        """Start one application task; what it may receive is put into the callable returned."""
        inbox = Inbox(scope["type"], self._channel.drained)
        _extensions(scope)[EXTENSION] = inbox
        self.start_app(cast("Scope", scope), inbox, send)
        return inbox.put

    def start_app(self, scope: Scope, inbox: Inbox, send: _Send) -> None:
        """Start one application task, which receives what is put into `inbox`."""
        self._inboxes.append(inbox)
        job = (scope, inbox, send)
        task, self._resting = self._resting, None
        if task is None:
            self._nursery.start_soon(self._serve, job, name="application")
        else:
            task.context = copy_context()
            trio.lowlevel.reschedule(task, outcome.Value(job))

    def spawn(self, func: Callable[[], Awaitable[object]], *args: object) -> None:
        """Start one of the protocol's own tasks; hypercorn passes them no arguments."""
        assert not args
        self._nursery.start_soon(func)

    def lose_client(self) -> None:
        """Tell every application task whose exchange is not over that its client has left."""
        for inbox in list(self._inboxes):
            inbox.lose()

    def dismiss(self) -> None:
        """No request will follow: whoever rests ends, and nobody rests any more."""
        self._is_over = True
        task, self._resting = self._resting, None
        if task is not None:
            trio.lowlevel.reschedule(task, outcome.Value(None))

    async def _serve(self, job: _Job | None) -> None:
        while job is not None:
            scope, inbox, send = job
            sender = inbox.sender = partial(self._send, send, inbox)
            try:
                await self._app(scope, inbox.receive, sender)
            except* Exception as failed:  # noqa: BLE001 - whatever it was, it was that request's
                self._log.application_failed(failed)
            finally:
                inbox.end()
                self._inboxes.remove(inbox)
            await (send(None) if inbox.is_answered else sender(None))
            del job, scope, inbox, send, sender  # or whoever rests would keep its last request
            if self._is_over or self._resting is not None:  # no other follows, or one rests already
                return
            self._resting = trio.lowlevel.current_task()
            job = await trio.lowlevel.wait_task_rescheduled(self._wake)

    def _wake(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._resting = None
        return trio.lowlevel.Abort.SUCCEEDED

    async def _send(self, send: _Send, inbox: Inbox, message: ASGISendEvent | None) -> None:
        kind = "end" if message is None else message["type"]
        if kind == "http.response.start":
            await self._send_joined(send, message, self._channel.flush_soon)
        elif kind == "end" or _is_last_part(message):
            await self._send_joined(send, message, self._channel.flush)
        else:
            await send(message)
            self._channel.flush()  # with the head, if it came in this very step
        await inbox.drained()

    async def _send_joined(
        self, send: _Send, message: ASGISendEvent | None, flush: Callable[[], object]
    ) -> None:
        """Let what hypercorn makes of `message` leave in one write: now, or with what follows.

        Only for messages over which hypercorn never waits.
        """
        self._channel.gather()
        try:
            await send(message)
        finally:
            flush()


def inbox_of(scope: HypercornScope) -> Inbox | None:
    """The inbox of the task that `spawn_app` started with `scope`, if it did."""
    inbox = _extensions(scope).get(EXTENSION)
    return inbox if isinstance(inbox, Inbox) else None


def _is_last_part(message: ASGISendEvent | None) -> bool:
    return (
        message is not None
        and message["type"] == "http.response.body"
        and not message.get("more_body", False)
    )


def _extensions(scope: HypercornScope) -> dict[str, object]:
    return cast("dict[str, dict[str, object]]", scope)["extensions"]
