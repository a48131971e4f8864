"""What every request to a service is: whom it names, how it is put to that, what may come back."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

from anvil_trio.decisions.words import RequestKind
from anvil_trio.dialects.ir import Usage
from anvil_trio.errors import Code, Problem, problem

__all__ = ["Ask", "Finished", "Manner", "Outgoing", "Told", "invalid"]


class Manner(Enum):
    """How a reply is handed on."""

    WHOLE = auto()  # read whole, checked, then sent
    EVENTS = auto()  # event by event
    BYTES = auto()  # as it comes


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The body for the service and what is said of it."""

    content_type: bytes
    body: bytes = field(repr=False)
    accept: bytes = b"application/json"


@dataclass(frozen=True, slots=True)
class Told:
    """What the router itself knows of a reply. `name` is what callers call the service."""

    name: str
    request_id: str
    latency_ms: int
    sample_rate: int | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A whole reply, ready for its caller."""

    content_type: bytes
    body: bytes = field(repr=False)
    usage: Usage = field(default_factory=Usage)


class Ask(Protocol):
    """One checked request. Pure: it holds bytes and words, and does nothing by itself."""

    @property
    def kind(self) -> RequestKind:
        """What is asked for."""
        ...

    @property
    def name(self) -> str | None:
        """The service that is named; None asks for the default of its kind."""
        ...

    @property
    def names_route(self) -> bool:
        """Whether the name is that of a `route`, not of a `model`: it decides how a 404 is put."""
        ...

    @property
    def path(self) -> str:
        """Where it goes, below the service's base URL."""
        ...

    @property
    def subject(self) -> str:
        """The field that holds what is to be worked on."""
        ...

    def outgoing(self, model: str) -> Outgoing:
        """The request to a service that calls itself `model`."""
        ...

    def manner(self, media: str) -> Manner | None:
        """How a good reply of that media type is handed on; None if none has this type."""
        ...

    def finish(self, media: str, body: bytes, told: Told) -> Finished | Problem | None:
        """The caller's reply from a whole one; a problem that it tells, None if it is no reply."""
        ...


def invalid(name: str, words: str) -> Problem:
    """A 400 that names the field and never shows a value."""
    return problem(Code.INVALID_REQUEST, message=words, param=name)
