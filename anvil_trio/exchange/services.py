"""The services beside chat: each is one route of one kind to one endpoint, chosen by its name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from anvil_trio.decisions.words import RequestKind
from anvil_trio.facts import ServiceFacts, ServiceKind
from anvil_trio.names import DIRECT_MEMBER, MemberId
from anvil_trio.upstream.build import service_url
from anvil_trio.upstream.client import Upstream

__all__ = ["Service", "Services"]

_KINDS: Mapping[RequestKind, ServiceKind] = MappingProxyType({
    RequestKind.EMBEDDING: "embedding",
    RequestKind.RERANK: "rerank",
    RequestKind.STT: "stt",
    RequestKind.TTS: "tts",
})


@dataclass(frozen=True, slots=True)
class Service:
    """One service. `name` is what callers call it, `model` what it is called upstream.

    To a record it is a tier of one unnamed member. `timeout_s` bounds how long its engine is
    waited for, in all, from the first byte written to the last one read.
    """

    id: str
    kind: RequestKind
    name: str
    model: str
    base_url: str = field(repr=False)
    upstream: Upstream = field(repr=False)
    timeout_s: float
    sample_rate: int | None = None
    is_default: bool = False
    is_replica: bool = field(default=False, init=False)
    is_capacity: bool = field(default=False, init=False)
    context_limit: None = field(default=None, init=False)

    @property
    def member_ids(self) -> tuple[MemberId, ...]:
        """Its one member."""
        return (DIRECT_MEMBER,)

    @property
    def facts(self) -> ServiceFacts:
        """What may be shown of it."""
        return ServiceFacts(
            self.id, _KINDS[self.kind], self.name, self.sample_rate, self.is_default
        )

    def at(self, path: str) -> Upstream:
        """The way to what is at `path` below its base URL."""
        return self.upstream.at(service_url(self.base_url, path))


class Services:
    """All services of one configuration, in the order of the file. Names are exact."""

    def __init__(self, services: Iterable[Service] = ()) -> None:
        self._all = tuple(services)
        self._by_name: Mapping[tuple[RequestKind, str], Service] = MappingProxyType({
            (service.kind, service.name): service for service in self._all
        })

    def find(self, kind: RequestKind, name: str | None) -> Service | None:
        """The one of that name; without a name the only one of the kind, or its default."""
        if name is not None:
            return self._by_name.get((kind, name))
        known = [service for service in self._all if service.kind is kind]
        return next((one for one in known if one.is_default or len(known) == 1), None)

    @property
    def facts(self) -> tuple[ServiceFacts, ...]:
        """What may be shown of each; the pages read this."""
        return tuple(service.facts for service in self._all)

    def names(self, kind: RequestKind) -> tuple[str, ...]:
        """What those of one kind are called."""
        return tuple(service.name for service in self._all if service.kind is kind)
