"""An actor: one task that reads a mailbox, lets a pure machine decide, and hands out answers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

import trio

from anvil_trio.actors.caller import Caller
from anvil_trio.actors.mailbox import Mailbox
from anvil_trio.actors.messages import Common, OwnerGone, Ticket
from anvil_trio.names import OwnerId

__all__ = ["Actor", "Endpoint", "Machine", "OnCrash"]

OnCrash: TypeAlias = Callable[[str, Exception], None]
"""Told an actor's name and the bug that fenced it; must neither wait nor raise."""

Message = TypeVar("Message")
Reply = TypeVar("Reply")
Message_co = TypeVar("Message_co", covariant=True)
Message_contra = TypeVar("Message_contra", contravariant=True)
Reply_co = TypeVar("Reply_co", covariant=True)
Reply_contra = TypeVar("Reply_contra", contravariant=True)


class Machine(Protocol[Message_contra, Reply_co]):
    """A pure state: each message in turn gives the answers that are due now."""

    def handle(self, message: Message_contra | Common) -> Iterable[tuple[Ticket, Reply_co]]:
        """Complete, or raise and change nothing."""
        ...


class Endpoint(Protocol[Message_co, Reply_contra]):
    """Where the answers to one owner go: its Caller, or a link to one elsewhere."""

    def deliver(self, ticket: Ticket, reply: Reply_contra) -> None:
        """Take in one answer; never waits, never raises."""
        ...

    def questions(self) -> Sequence[Message_co | Common]:
        """The questions that have no answer yet."""
        ...

    def stop(self) -> None:
        """No answer will come any more."""
        ...


class Actor(Generic[Message, Reply]):
    """Joins a machine, its mailbox and the owners it answers to; holds no logic of its own.

    `fence` makes the machine that takes over when `machine` has raised. Counters that may be
    wrong are never used again and never started afresh: a ceiling or a drain would lie.
    """

    def __init__(
        self,
        name: str,
        mailbox: Mailbox[Message],
        machine: Machine[Message, Reply],
        fence: Callable[[], Machine[Message, Reply]],
    ) -> None:
        self.name = name
        self.mailbox = mailbox
        self.machine = machine
        self._fence = fence
        self._endpoints: dict[OwnerId, Endpoint[Message, Reply]] = {}

    def caller(self, owner: OwnerId, grant: type) -> Caller[Message, Reply]:
        """The side of an owner in this process that has none yet."""
        caller: Caller[Message, Reply] = Caller(owner, self.mailbox.post, grant)
        self.connect(owner, caller)
        return caller

    def connect(self, owner: OwnerId, endpoint: Endpoint[Message, Reply]) -> None:
        """Send the answers for `owner` there."""
        assert owner not in self._endpoints, "an owner is one handle"
        self._endpoints[owner] = endpoint

    def act_now(self, message: Message | Common) -> Iterable[tuple[Ticket, Reply]] | None:
        """What the machine answers in the caller's own step; None: the message must be posted.

        For machines whose every answer goes to whoever asked, and at once. It is as if the message
        had been posted and read: that is only done while nothing else is unread, so that the order
        stays. A machine that raises has changed nothing, hears the message again, and is fenced.
        """
        if self.mailbox.unread or self.mailbox.is_closed:
            return None
        try:
            return self.machine.handle(message)
        except Exception:  # noqa: BLE001 - of any kind: `run` meets it again, and tells of it
            return None

    def close(self) -> None:
        """Take no more messages; `run` ends once it has read what is there."""
        self.mailbox.close()

    async def run(self, on_crash: OnCrash) -> None:
        """Serve until closed and read empty; then answer everyone who still waits.

        This is the one unbounded shield of the program. It is needed because an actor that is
        cancelled beside its callers loses their releases, and safe because nothing is awaited
        in it but the mailbox. A machine that raises ends its own service only: `on_crash` hears
        of it, everyone who waits is refused, and so is whoever comes later.
        """
        with trio.CancelScope(shield=True):
            try:
                await self.mailbox.serve(self._act)
            except Exception as bug:  # noqa: BLE001 - of any kind: it fences this actor, no other
                self._fall_back()
                on_crash(self.name, bug)
                await self.mailbox.serve(self._act)
            finally:
                for endpoint in self._endpoints.values():
                    endpoint.stop()

    def _fall_back(self) -> None:
        self.machine = self._fence()
        for endpoint in self._endpoints.values():
            for question in endpoint.questions():
                self._act(question)

    def _act(self, message: Message | Common) -> None:
        for ticket, reply in self.machine.handle(message):
            endpoint = self._endpoints.get(ticket.owner)
            # A fenced machine does not know who has gone, and answers them too.
            if endpoint is not None:
                endpoint.deliver(ticket, reply)
        if type(message) is OwnerGone:
            self._disconnect(message.owner)

    def _disconnect(self, owner: OwnerId) -> None:
        endpoint = self._endpoints.pop(owner, None)
        if endpoint is not None:
            endpoint.stop()
