"""A machine with serves and a router, in memory, that can be killed between any two effects."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from anvil_trio.lifecycle.desk import Desk
from anvil_trio.lifecycle.engines import Engines
from anvil_trio.lifecycle.events import EventKind, Events
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.files import capture
from anvil_trio.lifecycle.journal import Journal, parse_journal, render_journal
from anvil_trio.lifecycle.manifest import parse_manifest
from anvil_trio.lifecycle.model import EventSettings, Manifest, Promotion, Serve
from anvil_trio.lifecycle.native import Presence
from anvil_trio.lifecycle.store import OperationStore
from tests.lifecycle.samples import DUO, SWAP, native, table
from tests.unit.config.toml import config, direct, replica

__all__ = ["SPLIT", "Killed", "World", "router_toml"]

TIERS = ("chat", "left", "right", "big", "pair")
SPLIT = ("west", "east")
TEXT = (
    table("gpu_roles", id='"left"', vram_mib="1000")
    + table("gpu_roles", id='"right"', vram_mib="1000")
    + native("old", port="8103", router_tier='"chat"')
    + native("new", port="8104", router_tier='"chat"')
    + native("west", port="8105", gpu_role='"left"', router_tier='"left"', groups='["day"]')
    + native("east", port="8106", gpu_role='"right"', router_tier='"right"', groups='["day"]')
    + native(
        "duo",
        port="8107",
        router_tier='"big"',
        **DUO,
        router_config='"duo.toml"',
        rollback_router_config='"split.toml"',
    )
    + SWAP
    + "drain_timeout = 5\n"
)


class Killed(BaseException):
    """The command is gone, without a chance to say or to do anything."""


def router_toml(port: int, *, replicas: tuple[str, ...] = ("pair",)) -> str:
    """A router's configuration with all tiers; those of `replicas` have two members each."""
    tiers = [
        replica(id=f'"{name}"')
        if name in replicas
        else direct(id=f'"{name}"', base_url=f'"http://127.0.0.1:{port + number}/v1"')
        for number, name in enumerate(TIERS)
    ]
    routes = "{ " + ", ".join(f'{name} = "{name}"' for name in TIERS) + " }"
    return config(*tiers, routes=routes)


@dataclass(eq=False)
class World:
    """What is so on the machine, and the next effect at which the command is killed."""

    folder: Path
    manifest: Manifest = field(default_factory=lambda: parse_manifest([TEXT.encode()]))
    up: set[str] = field(default_factory=lambda: {"old"})
    closed: set[str] = field(default_factory=set)
    route: str | None = None
    is_router_up: bool = True
    sick: set[str] = field(default_factory=set)
    """The names of effects that fail."""
    told: list[str] = field(default_factory=list)
    """Every effect, in its order."""
    events: list[tuple[str, str]] = field(default_factory=list)
    kill_at: int = -1
    is_locked: bool = False
    journals: dict[str, bytes] = field(default_factory=dict)
    kept: dict[str, Mapping[str, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, name in enumerate(("old", "new", "split", "duo")):
            text = router_toml(9000 + 100 * number)
            (self.folder / f"{name}.toml").write_text(text)
        self.install("old")

    @property
    def plan(self) -> Promotion:
        """The one promotion."""
        return self.manifest.promotions[0]

    def serve(self, name: str) -> Serve:
        """A serve of the manifest."""
        found = self.manifest.serve(name)
        assert found is not None
        return found

    def install(self, name: str) -> None:
        """The router runs this configuration, and has it for its file."""
        data = (self.folder / f"{name}.toml").read_bytes()
        (self.folder / "router.toml").write_bytes(data)
        self.route = sha256(data).hexdigest()

    def digest(self, name: str) -> str:
        """Which configuration that is."""
        return sha256((self.folder / f"{name}.toml").read_bytes()).hexdigest()

    def installed_file(self) -> str:
        """Which configuration the router would start with."""
        return self.digest("router")

    def tick(self, effect: str) -> None:
        """One moment at which the command may be killed, and what it is about to do or has done."""
        self.told.append(effect)
        if len(self.told) - 1 == self.kill_at:
            raise Killed

    def fail_if_sick(self, effect: str, code: str) -> None:
        """Raise if that effect does not work today."""
        if effect in self.sick:
            raise LifecycleFailed(code)

    def desk(self) -> Desk:
        """A command that begins now."""
        return Desk(
            manifest=self.manifest,
            folder=self.folder,
            engines=FakeEngines(self),
            store=MemoryStore(self),
            lock=self.lock,
            events=FakeEvents(self),
            router=FakeRouter(self),
            live_config=self.folder / "router.toml",
            active=capture(self.folder / "router.toml"),
        )

    def lock(self) -> AbstractContextManager[None]:
        """The one lock, which ends with the process."""
        return self._locked()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.tick("lock")
        if self.is_locked:
            raise LifecycleFailed(Fault.LOCKED)
        self.is_locked = True
        try:
            yield
        finally:
            self.is_locked = False


class FakeEngines(Engines):
    """Serves that start and stop at once."""

    def __init__(self, world: World) -> None:
        super().__init__(world.manifest, world.folder, world.folder)
        self._world = world

    async def find(self, serve: Serve) -> Presence:
        return Presence.RUNNING if serve.name in self._world.up else Presence.STOPPED

    async def is_healthy(self, serve: Serve) -> bool:
        return serve.name in self._world.up and f"health {serve.name}" not in self._world.sick

    async def start(self, serve: Serve, *, within_s: float, poll_s: float = 0.25) -> None:
        self._world.tick(f"start {serve.name}")
        self._world.fail_if_sick(f"start {serve.name}", Fault.NOT_STARTED)
        self._world.up.add(serve.name)
        self._world.tick(f"started {serve.name}")
        self._world.fail_if_sick(f"health {serve.name}", Fault.NOT_HEALTHY)

    async def stop(self, serve: Serve) -> None:
        self._world.tick(f"stop {serve.name}")
        self._world.fail_if_sick(f"stop {serve.name}", Fault.NOT_STOPPED)
        self._world.up.discard(serve.name)
        self._world.tick(f"stopped {serve.name}")


@dataclass
class FakeRouter:
    """A router that does what it is told, if it runs."""

    world: World

    async def installed(self) -> str | None:
        self.world.tick("installed")
        return self.world.route if self.world.is_router_up else None

    async def quiesce(self, tier: str, reason: str) -> None:
        self._ask(f"quiesce {tier}")
        self.world.closed.add(tier)
        self.world.tick(f"quiesced {tier}")

    async def drain(self, tier: str, timeout_s: float) -> bool:
        self._ask(f"drain {tier}")
        assert tier in self.world.closed
        return f"busy {tier}" not in self.world.sick

    async def readmit(self, tier: str) -> bool:
        self._ask(f"readmit {tier}")
        if f"unready {tier}" in self.world.sick:
            return False
        self.world.closed.discard(tier)
        self.world.tick(f"readmitted {tier}")
        return True

    async def activate(self, sha256: str) -> None:
        self._ask("activate")
        if self.world.installed_file() != sha256:
            raise LifecycleFailed("activation_refused")
        self.world.route = sha256
        self.world.tick("activated")

    def _ask(self, what: str) -> None:
        self.world.tick(what)
        if not self.world.is_router_up:
            raise LifecycleFailed(Fault.NO_ROUTER)
        self.world.fail_if_sick(what, "router_http_error")


class FakeEvents(Events):
    """Events that are kept."""

    def __init__(self, world: World) -> None:
        super().__init__(world.folder, EventSettings())
        object.__setattr__(self, "_world", world)

    async def record(self, kind: EventKind, subject: str, operation: str | None = None) -> bool:
        world: World = self._world  # type: ignore[attr-defined]
        world.tick("event")
        world.events.append((kind.value, subject))
        return True


class MemoryStore(OperationStore):
    """Journals as the disk would hold them, without the disk."""

    def __init__(self, world: World) -> None:
        super().__init__(world.folder)
        self._world = world

    def create(self, journal: Journal, configs: Mapping[str, bytes]) -> Journal:
        number = len(self._world.journals) + 1
        journal = msgspec.structs.replace(journal, id=f"{number:06d}-{journal.kind}-{journal.name}")
        self._world.tick("create")
        self._world.kept[journal.id] = configs
        self.save(journal)
        return journal

    def save(self, journal: Journal) -> None:
        self._world.tick("save")
        self._world.fail_if_sick("save", Fault.NOT_SAVED)
        self._world.journals[journal.id] = render_journal(journal)
        self._world.tick("saved")

    def config(self, journal: Journal, digest: str) -> bytes | None:
        return self._world.kept[journal.id].get(digest)

    def _journals(self) -> Iterator[Journal]:
        for _, data in sorted(self._world.journals.items(), reverse=True):
            yield parse_journal(data)
