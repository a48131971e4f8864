"""The operator's own files as the rest sees them: frozen, complete, already checked.

Only the parsers beside this module make these from a file. Each value obeys the rule of its own
key; rules between keys are the parsers'. Times are seconds.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal

from anvil_trio.config.fields import (
    Count,
    FilePath,
    Flag,
    GpuRole,
    HealthPath,
    Identifier,
    Positive,
    Seconds,
    Text,
    VersionLabel,
    Words,
)
from anvil_trio.config.kinds import Choice, must, whole
from anvil_trio.config.model import Frozen
from anvil_trio.names import is_identifier

__all__ = [
    "ALL",
    "EventSettings",
    "GpuRoleSize",
    "Manifest",
    "Mode",
    "Profile",
    "Promotion",
    "Runtime",
    "Serve",
    "fill",
]

ALL = "all"
"""The group of every serve; no manifest may name another one so."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_MAX_WORDS = 256
_MAX_TIERS = 200
_MAX_DRAIN_S = 3600


class Runtime(StrEnum):
    """What starts and stops a serve."""

    DOCKER = "docker"
    NATIVE = "native"


class Mode(StrEnum):
    """How a machine's GPUs are used: each by its own serves, or two by one serve."""

    SPLIT = "split"
    EXCLUSIVE = "dual-gpu-exclusive"


def _is_command(words: tuple[str, ...]) -> bool:
    is_clean = all("\x00" not in word for word in words)
    return 0 < len(words) <= _MAX_WORDS and bool(words[0]) and is_clean


def _are_groups(names: tuple[str, ...]) -> bool:
    are_names = all(is_identifier(name) and name != ALL for name in names)
    return are_names and len(set(names)) == len(names)


def _are_two(roles: tuple[str, ...]) -> bool:
    return len(roles) == len(set(roles)) == 2 and all(map(is_identifier, roles))  # noqa: PLR2004


def _are_tiers(ids: tuple[str, ...]) -> bool:
    return 0 < len(ids) <= _MAX_TIERS and all(ids) and len(set(ids)) == len(ids)


def _is_drain(seconds: float) -> bool:
    return 0 < seconds <= _MAX_DRAIN_S


def _is_name(text: str) -> bool:
    return is_identifier(text) and text != ALL


Command = Annotated[
    tuple[str, ...],
    must(f"must be an array of 1 to {_MAX_WORDS} texts, the first not empty", _is_command),
]
Groups = Annotated[
    tuple[str, ...],
    must("must be an array of different names [A-Za-z][A-Za-z0-9_-]{0,63}, not all", _are_groups),
]
TwoRoles = Annotated[tuple[str, ...], must("must be an array of two different names", _are_two)]
Tiers = Annotated[
    tuple[str, ...], must(f"must be an array of 1 to {_MAX_TIERS} different tiers", _are_tiers)
]
Drain = Annotated[float, must("must be a number of seconds above 0 and at most 3600", _is_drain)]
Name = Annotated[str, must("must match [A-Za-z][A-Za-z0-9_-]{0,63} and not be all", _is_name)]


class GpuRoleSize(Frozen):
    """One GPU by what it is for, and how much of its memory serves may take."""

    id: GpuRole
    vram_mib: Positive
    reserve_mib: Count = 0


class Serve(Frozen):
    """One server process or container; "" and () stand for what is not said."""

    name: Name
    runtime: Annotated[Runtime, Choice()]
    port: Annotated[int, whole(1, 65_535)]
    model: Text = ""
    served_name: Text = ""
    command: Command = ()
    container: Identifier = ""
    up: Text = ""
    health: HealthPath = "/health"
    engine: Annotated[
        Literal[
            "vllm",
            "sglang",
            "llamacpp",
            "q36",
            "ninfer",
            "audio",
            "embedding",
            "reranker",
            "image",
            "mlx-lm",
            "mlx-vlm",
            "none",
        ],
        Choice(),
    ] = "none"
    stack: Identifier = "serving"
    groups: Groups = ()
    shared_volumes: Words = ()
    router_tier: Text = ""
    gpu_role: GpuRole = ""
    gpu_roles: TwoRoles = ()
    vram_mib: Count = 0
    residency: Annotated[Literal["resident", "evictable", "on-demand"], Choice()] = "resident"
    gpu_inference: Flag = False
    operating_mode: Annotated[Literal["dual-gpu-exclusive"], Choice()] | None = None
    tensor_parallel_size: Positive = 1
    router_config: FilePath = ""
    rollback_router_config: FilePath = ""
    startup_timeout: Seconds = 600
    stop_timeout_s: Seconds = 30
    log_max_bytes: Annotated[int, whole(4096, 1_073_741_824)] = 16_777_216

    @property
    def roles(self) -> tuple[str, ...]:
        """The GPUs that it uses: none, one or two."""
        return (self.gpu_role,) if self.gpu_role else self.gpu_roles

    @property
    def uses_gpu(self) -> bool:
        """Whether it must be stopped before another serve has the GPUs to itself."""
        return bool(self.roles) or self.gpu_inference


class Promotion(Frozen):
    """A plan: one serve takes over from another, and the way back."""

    name: Identifier
    target: Identifier
    rollback: Identifier
    affected_tiers: Tiers
    router_config: FilePath
    rollback_router_config: FilePath
    candidate: VersionLabel = ""
    drain_timeout: Drain = 120
    needle_ctx: Positive = 32_768
    tool_batch: Positive = 20
    startup_timeout: Seconds = 600
    rollback_startup_timeout: Seconds | None = None
    poll_interval: Seconds = 5
    gate: Command = ()
    rollback_gate: Command = ()


class Manifest(Frozen):
    """All that the set of `serves*.toml` says."""

    gpu_roles: tuple[GpuRoleSize, ...] = ()
    serves: tuple[Serve, ...] = ()
    promotions: tuple[Promotion, ...] = ()

    def serve(self, name: str) -> Serve | None:
        """The serve of that name."""
        return next((serve for serve in self.serves if serve.name == name), None)

    def promotion(self, name: str) -> Promotion | None:
        """The plan of that name."""
        return next((plan for plan in self.promotions if plan.name == name), None)

    def group(self, name: str) -> tuple[Serve, ...]:
        """The members of a group, in the order of the files."""
        return tuple(serve for serve in self.serves if name == ALL or name in serve.groups)

    def select(self, name: str) -> tuple[Serve, ...]:
        """The serve of that name, or the members of that group; () for neither."""
        found = self.serve(name)
        return self.group(name) if found is None else (found,)


class Profile(Frozen):
    """One way to use the GPUs, by a name."""

    id: Identifier
    mode: Annotated[Mode, Choice()]
    exclusive_target: Identifier
    restore_group: Identifier
    startup_timeout: Seconds = 600
    poll_interval: Seconds = 2


class EventSettings(Frozen):
    """Whether and how another program is told of what was done."""

    enabled: Flag = False
    command: Command = ("anvil-events",)
    node: Identifier = ""
    producer: Identifier = "anvil-serving"
    root: FilePath = ""


def fill(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """`words` with each `{name}` replaced by its value; other braces stay, nothing is split."""
    return tuple(
        _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word) for word in words
    )
