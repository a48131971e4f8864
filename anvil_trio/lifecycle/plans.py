"""What an operation is about, worked out from the manifest before anything is touched. Pure."""

from collections.abc import Collection, Iterable
from enum import StrEnum

from anvil_trio.config.model import RouterConfig
from anvil_trio.lifecycle.journal import Journal, Kind, Side
from anvil_trio.lifecycle.model import Manifest, Promotion, Serve, fill
from anvil_trio.lifecycle.progress import Goal, Order, begin
from anvil_trio.names import TierId

__all__ = [
    "Configs",
    "ModeState",
    "Times",
    "affected_by_mode",
    "find_mode",
    "keeps_replicas",
    "plan_enter",
    "plan_leave",
    "plan_promotion",
    "victims_of",
]

Configs = tuple[str | None, str | None]
"""The digests of the target's and of the rollback's configuration; None: the route stays."""

Times = tuple[float, float, float]
"""How long starting may take, how long draining may, and how often health is asked; seconds."""


class ModeState(StrEnum):
    """How the GPUs are used now."""

    SPLIT = "split"
    EXCLUSIVE = "dual-gpu-exclusive"
    MIXED = "mixed"
    STOPPED = "stopped"


def plan_promotion(plan: Promotion, manifest: Manifest, configs: Configs, folder: str) -> Journal:
    """The operation that lets the plan's target take over from its rollback, side by side."""
    tiers = plan.affected_tiers
    late_s = plan.rollback_startup_timeout

    def side(name: str, other: str, digest: str | None, gate: tuple[str, ...], s: float) -> Side:
        serve = manifest.serve(name)
        values = {
            "dir": folder,
            "port": "" if serve is None else str(serve.port),
            "candidate": plan.candidate,
            "needle_ctx": str(plan.needle_ctx),
            "tool_batch": str(plan.tool_batch),
        }
        return Side(
            serves=(name,),
            stops=(other,),
            closes=tiers,
            opens=tiers,
            config_sha256=digest,
            gate=fill(gate, values),
            startup_timeout_s=s,
        )

    first_s = plan.startup_timeout
    target = side(plan.target, plan.rollback, configs[0], plan.gate, first_s)
    back_s = first_s if late_s is None else late_s
    rollback = side(plan.rollback, plan.target, configs[1], plan.rollback_gate, back_s)
    times = (first_s, plan.drain_timeout, plan.poll_interval)
    return _journal("promotion", plan.name, Order.START_FIRST, Goal.TARGET, target, rollback, times)


def victims_of(manifest: Manifest, target: Serve) -> tuple[Serve, ...]:
    """All other serves that use a GPU, running or not."""
    return tuple(serve for serve in manifest.serves if serve.uses_gpu and serve.name != target.name)


def affected_by_mode(manifest: Manifest, target: Serve, group: str) -> tuple[TierId, ...]:
    """T012.2: the tiers of the target, of every GPU serve and of the restore group, each once.

    It depends on the manifest alone: what does not run now may run in a moment.
    """
    return _tiers([target, *victims_of(manifest, target), *manifest.group(group)])


def find_mode(running: Iterable[Serve]) -> ModeState:
    """How the GPUs are used by what runs."""
    kinds = {serve.operating_mode is not None for serve in running if serve.uses_gpu}
    if not kinds:
        return ModeState.STOPPED
    if len(kinds) > 1:
        return ModeState.MIXED
    return ModeState.EXCLUSIVE if True in kinds else ModeState.SPLIT


def plan_enter(
    manifest: Manifest, target: Serve, running: Collection[Serve], configs: Configs, times: Times
) -> Journal:
    """The operation that gives `target` the GPUs; undone, what ran before runs again."""
    victims = victims_of(manifest, target)
    ran = [serve for serve in victims if serve in running]
    exclusive = Side(
        serves=(target.name,),
        stops=_names(victims),
        closes=_tiers(ran),
        opens=_tiers([target]),
        config_sha256=configs[0],
        startup_timeout_s=times[0],
    )
    split = Side(
        serves=_names(ran),
        stops=(target.name,),
        closes=_tiers([target]),
        opens=_tiers(ran),
        config_sha256=configs[1],
        startup_timeout_s=times[0],
    )
    return _journal("mode", target.name, Order.STOP_FIRST, Goal.TARGET, exclusive, split, times)


def plan_leave(
    manifest: Manifest,
    target: Serve,
    group: str,
    running: Collection[Serve],
    configs: Configs,
    times: Times,
) -> Journal:
    """The operation that gives the GPUs back to a group; undone, the target has them again."""
    members = manifest.group(group)
    had = [target] if target in running else []
    exclusive = Side(
        serves=_names(had),
        stops=_names([serve for serve in members if serve not in running]),
        closes=_tiers(members),
        opens=_tiers(had),
        config_sha256=configs[0] if had else None,
        startup_timeout_s=times[0],
    )
    split = Side(
        serves=_names(members),
        stops=(target.name,),
        closes=_tiers(had),
        opens=_tiers(members),
        config_sha256=configs[1],
        startup_timeout_s=times[0],
    )
    return _journal("mode", target.name, Order.STOP_FIRST, Goal.ROLLBACK, exclusive, split, times)


def keeps_replicas(active: RouterConfig | None, new: RouterConfig) -> bool:
    """Whether every replica tier of `new` is at work already, unchanged.

    T015: replicas come into a router only with a validated snapshot, never on the back of a switch.
    """
    known = [] if active is None else [tier for tier in active.tiers if tier.is_replica]
    return all(tier in known for tier in new.tiers if tier.is_replica)


def _tiers(serves: Iterable[Serve]) -> tuple[TierId, ...]:
    return tuple(dict.fromkeys(TierId(serve.router_tier) for serve in serves if serve.router_tier))


def _names(serves: Iterable[Serve]) -> tuple[str, ...]:
    return tuple(serve.name for serve in serves)


def _journal(
    kind: Kind, name: str, order: Order, origin: Goal, target: Side, rollback: Side, times: Times
) -> Journal:
    first = begin(order, origin)
    return Journal(
        id="",
        kind=kind,
        name=name,
        status=first.status,
        order=order,
        origin=origin,
        goal=first.goal,
        path=first.path,
        step=first.step,
        extent=first.extent,
        target=target,
        rollback=rollback,
        drain_timeout_s=times[1],
        poll_interval_s=times[2],
    )
