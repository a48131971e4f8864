"""`params` of a tier: descriptions for the views, never forwarded, and the media policy.

`params` and its tables are open: keys that no view shows stay private. Those listed here are
checked, because something reads them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict

from anvil_trio.config.fields import Count, Flag, GpuRole, Number, Positive, Text, Words
from anvil_trio.config.kinds import must
from anvil_trio.config.model import Frozen, MediaPolicy
from anvil_trio.config.problems import ConfigProblem
from anvil_trio.config.table import Table, read_table

__all__ = ["Params", "find_params_problems", "make_media_policy", "read_params"]


class _Open(Frozen):
    model_config = ConfigDict(extra="ignore")


class _Capacity(_Open):
    gpu_role: GpuRole | None = None
    gpu_name: Text | None = None
    gpu_memory_total_mib: Number | None = None
    kv_cache_capacity_tokens: Positive | None = None
    scheduler_max_num_seqs: Positive | None = None
    model_memory_gib: Number | None = None
    image_limit: Count | None = None
    video_limit: Count | None = None
    image_tokens_estimate: Count | None = None
    video_tokens_estimate: Count | None = None
    media_admission_enabled: Flag = False


class _Capabilities(_Open):
    modalities: Words | None = None
    images_per_request: Count | None = None
    video_per_request: Count | None = None


def _is_not_empty(value: bool | str) -> bool:  # noqa: FBT001 - a value of the file
    return value != ""


class _Thinking(_Open):
    supported: Flag | None = None
    default: (
        Annotated[bool | str, must("must be true, false or text that is not empty", _is_not_empty)]
        | None
    ) = None
    caller_override: Flag | None = None
    max_tokens: Positive | None = None


class _Compat(_Open):
    supportsUsageInStreaming: Flag | None = None  # noqa: N815 - the key is the file's
    supportsStrictMode: Flag | None = None  # noqa: N815
    supportedReasoningEfforts: Words | None = None  # noqa: N815


class _Fingerprint(_Open):
    model_revision: Text | None = None
    engine_version: Text | None = None
    image_digest: Text | None = None
    config_fingerprint: Text | None = None


_TABLES: Mapping[tuple[str, ...], type[_Open]] = {
    ("capacity",): _Capacity,
    ("capabilities",): _Capabilities,
    ("capabilities", "thinking"): _Thinking,
    ("capabilities", "compat"): _Compat,
    ("fingerprint",): _Fingerprint,
}


@dataclass(frozen=True, slots=True)
class Params:
    """The tables of `params` that the file has and that something reads."""

    tables: Mapping[tuple[str, ...], Table]

    @property
    def capacity(self) -> Table | None:
        """`params.capacity`, if the file has it."""
        return self.tables.get(("capacity",))

    @property
    def fingerprint(self) -> Table | None:
        """`params.fingerprint`, if the file has it."""
        return self.tables.get(("fingerprint",))

    @property
    def has_media_policy(self) -> bool:
        """Whether requests with media are to be counted against the context."""
        return self.capacity is not None and self.capacity.get("media_admission_enabled") is True


def read_params(tier: Table) -> Params:
    """The described tables of one tier's `params`, each checked by itself."""
    found = dict[tuple[str, ...], Table]()
    for keys, model in _TABLES.items():
        value = tier.get("params")
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            found[keys] = read_table(model, value, ".".join((tier.path, "params", *keys)))
    return Params(found)


def find_params_problems(params: Params) -> Iterator[ConfigProblem]:
    """All that is wrong with `params`. A media policy is complete, or the file does not load."""
    for table in params.tables.values():
        yield from table.problems
    if params.capacity is not None and params.has_media_policy:
        for key in MediaPolicy.model_fields:
            if not params.capacity.has(key):
                yield params.capacity.missing(key, "is required with media_admission_enabled")


def make_media_policy(params: Params) -> MediaPolicy | None:
    """The media policy that the file enables, of `params` without problems."""
    if params.capacity is None or not params.has_media_policy:
        return None
    return MediaPolicy.model_validate(params.capacity.only(MediaPolicy.model_fields))
