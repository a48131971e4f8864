"""A router and its file, as an installation sees them; the router's state is a file too.

So it outlives an installer that is killed. A configuration is `tiers A B`, whatever follows.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import trio

from anvil_trio.installation.faults import InstallFailed
from anvil_trio.installation.installer import Bounds, Installer, Outcome, look_over
from anvil_trio.installation.live_file import LiveFile
from anvil_trio.installation.payload import Payload
from anvil_trio.installation.plan import Look, TierRow
from anvil_trio.installation.protocol import Step, Way

OLD = b"tiers one two three\r\n# as it was"
NEW = b"tiers two four\n# as it is to be"


def digest(data: bytes) -> str:
    """The sha256 of some bytes."""
    return sha256(data).hexdigest()


def tiers_of(data: bytes) -> list[str]:
    """The tiers of a configuration."""
    return data.split(b"\n")[0].decode().split()[1:]


def payload(data: bytes) -> Payload:
    """Captured bytes."""
    return Payload(data, digest(data), tuple(tiers_of(data)))


def nothing(_: str) -> None:
    """Meets nobody."""


@dataclass
class FileRouter:
    """A `RouterOrders` and a restart command.

    `meet` is told of each moment, as `quiesce one` and `quiesced one`, and may raise or kill.
    """

    folder: Path
    meet: Callable[[str], None] = nothing
    asked: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """The router's own file."""
        return self.folder / "router.toml"

    @property
    def state(self) -> dict[str, object]:
        """What is true of it."""
        found: dict[str, object] = json.loads((self.folder / "state").read_text())
        return found

    def change(self, **facts: object) -> None:
        """Something is true from now on, all at once."""
        (self.folder / "state.new").write_text(json.dumps({**self.state, **facts}))
        (self.folder / "state.new").replace(self.folder / "state")

    def start(self, data: bytes) -> None:
        """A new process with this configuration: all is open."""
        path = self.folder / "state"
        starts = self.state["starts"] if path.exists() else 0
        assert isinstance(starts, int)
        facts: dict[str, object] = {"closed": [], "failed": [], "unready": [], "busy": []}
        if path.exists():
            facts |= {key: self.state[key] for key in ("unready", "busy")}
        facts |= {"starts": starts + 1, "is_up": True, "work": data.decode()}
        path.write_text(json.dumps(facts))

    @property
    def work(self) -> bytes:
        """The configuration at work."""
        return str(self.state["work"]).encode()

    def names(self, key: str) -> list[str]:
        """The tiers of which something is true."""
        found = self.state[key]
        assert isinstance(found, list)
        return found

    async def look(self) -> Look:
        """See `RouterOrders`."""
        await self._begin("look")
        rows = tuple(
            TierRow(
                name,
                is_quiesced=name in self.names("closed"),
                is_failed=name in self.names("failed"),
                is_ready=name not in self.names("unready"),
            )
            for name in tiers_of(self.work)
        )
        self.meet("looked")
        return Look(digest(self.work), str(self.state["starts"]), rows)

    async def quiesce(self, tier_id: str) -> None:
        """See `RouterOrders`."""
        await self._begin(f"quiesce {tier_id}")
        assert tier_id in tiers_of(self.work)
        self.change(closed=[*self.names("closed"), tier_id])
        self.meet(f"quiesced {tier_id}")

    async def drain(self, tier_id: str, timeout_s: float) -> bool:
        """See `RouterOrders`."""
        await self._begin(f"drain {tier_id}")
        if tier_id not in self.names("closed"):
            raise InstallFailed("invalid_transition")
        if tier_id in self.names("busy"):
            await trio.sleep(timeout_s)
            return False
        self.meet(f"drained {tier_id}")
        return True

    async def readmit(self, tier_id: str) -> bool:
        """See `RouterOrders`."""
        await self._begin(f"readmit {tier_id}")
        if tier_id not in tiers_of(self.work) or tier_id in self.names("failed"):
            raise InstallFailed("transition_failed")
        if tier_id in self.names("unready"):
            return False
        self.change(closed=[name for name in self.names("closed") if name != tier_id])
        self.meet(f"readmitted {tier_id}")
        return True

    async def activate(self, sha256: str) -> None:
        """See `RouterOrders`."""
        await self._begin("activate")
        data = self.path.read_bytes()
        if digest(data) != sha256:
            raise InstallFailed("activation_digest_mismatch")
        self.change(work=data.decode())
        self.meet("activated")

    async def restart(self) -> None:
        """The restart command. Without a file the router starts with what it has."""
        self.asked.append("restart")
        self.meet("restart")
        self.change(is_up=False)
        self.meet("stopped")
        self.start(self.path.read_bytes() if self.path.exists() else self.work)
        self.meet("restarted")

    async def _begin(self, order: str) -> None:
        self.asked.append(order)
        await trio.lowlevel.checkpoint()
        self.meet(order)
        if not self.state["is_up"]:
            raise InstallFailed("router_unreachable", is_unsure=True)


def stage(folder: Path, data: bytes = OLD) -> FileRouter:
    """A router that runs with this configuration out of its file."""
    router = FileRouter(folder)
    router.path.write_bytes(data)
    router.start(data)
    return router


async def installed(
    router: FileRouter,
    way: Way,
    data: bytes = NEW,
    *,
    drain_s: float = 5.0,
    meet_step: Callable[[Step, Installer], None] = lambda step, installer: None,
) -> Outcome:
    """One installation from its first look to its end."""
    live = LiveFile(router.path)
    plan = await look_over(way, payload(data), router, live)
    bounds = Bounds(drain_s=drain_s, start_s=20.0)
    made = Installer(
        plan, router, live, router.restart, bounds, on_step=lambda step: meet_step(step, made)
    )
    return await made.run()
