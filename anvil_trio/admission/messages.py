"""What the front door hears and what it answers: frozen values, plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import msgspec

from anvil_trio.actors.messages import Common, Refused, Ticket
from anvil_trio.names import ClientId

__all__ = ["AdmissionMessage", "AdmissionReply", "AdmissionSnapshot", "Admitted", "Enter"]


class Enter(msgspec.Struct, frozen=True):
    """One request of this client asks to be let in."""

    ticket: Ticket
    client_id: ClientId


AdmissionMessage = Enter | Common


class Admitted(msgspec.Struct, frozen=True):
    """One permit, under the ticket of its `Enter`; give it back by `Release`."""


@dataclass(frozen=True, slots=True)
class AdmissionSnapshot:
    """Who is inside at one moment. A failed front door counts nothing and admits nobody."""

    active: int
    max_concurrency: int
    active_by_client: Mapping[ClientId, int] = field(default_factory=lambda: MappingProxyType({}))
    is_failed: bool = False


AdmissionReply = Admitted | Refused | AdmissionSnapshot
