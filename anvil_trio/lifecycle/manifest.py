"""The set of `serves*.toml`, `serve-profiles.toml` and `events.toml`: bytes to values. Pure.

A set is taken as a whole or not at all. Problems are told as those of a router's configuration: by
key path and rule, never by value; the second file of a set is `(file 2)`.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from pydantic import BaseModel

from anvil_trio.config.document import parse_document
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.table import Table, read_rows, read_table
from anvil_trio.lifecycle.model import (
    EventSettings,
    GpuRoleSize,
    Manifest,
    Mode,
    Profile,
    Promotion,
    Runtime,
    Serve,
)

__all__ = ["PROFILES_SCHEMA", "parse_events", "parse_manifest", "parse_profiles"]

PROFILES_SCHEMA = "anvil-serving/serve-profiles/v1"

_ROWS: Mapping[str, type[BaseModel]] = {
    "gpu_roles": GpuRoleSize,
    "serve": Serve,
    "promotion": Promotion,
}
_NATIVE_ONLY = ("command", "log_max_bytes")
_DOCKER_ONLY = ("container", "up", "shared_volumes")
_EXCLUSIVE_PARALLEL = 2


def parse_manifest(files: Sequence[bytes]) -> Manifest:
    """What the files of one set say together. Raises ConfigError with all that is wrong with it."""
    problems: list[ConfigProblem] = []
    found: dict[str, list[Table]] = {key: [] for key in _ROWS}
    for number, data in enumerate(files, 1):
        place = "" if number == 1 else f"(file {number}) "
        try:
            tree = parse_document(data).tree
        except ConfigError as error:
            problems += [_placed(place, problem) for problem in error.problems]
            continue
        problems += _unknown(tree.keys() - _ROWS.keys(), place)
        for key, model in _ROWS.items():
            rows = read_rows(model, tree.get(key, []), place + key)
            problems += rows.problems
            found[key] += rows.tables
    problems += _check_serves(found["serve"], found["gpu_roles"])
    problems += chain.from_iterable(
        _check_promotion(plan, found["serve"]) for plan in found["promotion"]
    )
    problems += _twins(found["promotion"], "name")
    problems += _twins(found["gpu_roles"], "id")
    problems += chain.from_iterable(map(_check_role, found["gpu_roles"]))
    if problems:
        raise ConfigError(problems)
    return Manifest(
        gpu_roles=tuple(GpuRoleSize.model_validate(row.raw) for row in found["gpu_roles"]),
        serves=tuple(Serve.model_validate(row.raw) for row in found["serve"]),
        promotions=tuple(Promotion.model_validate(row.raw) for row in found["promotion"]),
    )


def parse_profiles(data: bytes, manifest: Manifest) -> tuple[Profile, ...]:
    """The profiles of one file, which may only name what `manifest` has. Raises ConfigError."""
    tree = parse_document(data).tree
    problems = list(_unknown(tree.keys() - {"schema", "profile"}, ""))
    if tree.get("schema") != PROFILES_SCHEMA:
        problems.append(ConfigProblem("schema", ProblemCode.INVALID, f"must be {PROFILES_SCHEMA}"))
    rows = read_rows(Profile, tree.get("profile", []), "profile")
    problems += rows.problems
    problems += _twins(rows.tables, "id")
    for row in rows:
        target, group = row.get("exclusive_target"), row.get("restore_group")
        serve = manifest.serve(str(target))
        if isinstance(target, str) and (serve is None or serve.operating_mode is None):
            problems.append(
                _reference(row, "exclusive_target", f"must name a serve of {Mode.EXCLUSIVE.value}")
            )
        if isinstance(group, str) and not manifest.group(group):
            problems.append(_reference(row, "restore_group", "must name a group of serves"))
    if problems:
        raise ConfigError(problems)
    return tuple(Profile.model_validate(row.raw) for row in rows)


def parse_events(data: bytes) -> EventSettings:
    """What `events.toml` says. Raises ConfigError."""
    tree = parse_document(data).tree
    problems = list(_unknown(tree.keys() - {"events"}, ""))
    table = read_table(EventSettings, tree.get("events", {}), "events")
    problems += table.problems
    if problems:
        raise ConfigError(problems)
    return EventSettings.model_validate(table.raw)


def _placed(place: str, problem: ConfigProblem) -> ConfigProblem:
    if not place:
        return problem
    return ConfigProblem(f"{place}{problem.path}".strip(), problem.code, problem.message)


def _unknown(keys: set[str], place: str) -> Iterator[ConfigProblem]:
    if keys:  # one problem however many: a key is what somebody wrote
        words = "must have no table but those that it may have"
        yield ConfigProblem(place.strip(), ProblemCode.UNKNOWN_KEY, words)


def _twins(rows: Sequence[Table], key: str) -> Iterator[ConfigProblem]:
    values = [(row.at(key), row.get(key)) for row in rows]
    yield from find_duplicates(
        ((path, value) for path, value in values if value), "must be unique in the set"
    )


def _reference(row: Table, key: str, words: str) -> ConfigProblem:
    return ConfigProblem(row.at(key), ProblemCode.UNKNOWN_REFERENCE, words)


def _check_role(row: Table) -> Iterator[ConfigProblem]:
    size, reserve = row.get("vram_mib"), row.get("reserve_mib")
    if isinstance(size, int) and isinstance(reserve, int) and reserve > size:
        yield row.conflict("reserve_mib", "must be at most vram_mib")


def _check_serves(serves: Sequence[Table], roles: Sequence[Table]) -> Iterator[ConfigProblem]:
    yield from _twins(serves, "name")
    names = {serve.get("name") for serve in serves}
    known = {role.get("id") for role in roles}
    for serve in serves:
        if not serve.is_table:
            continue
        yield from _check_runtime(serve)
        yield from _check_mode(serve)
        if not (serve.has("model") or serve.has("served_name")):
            yield serve.missing("model", "is required without served_name")
        if names.intersection(_texts(serve, "groups")):
            yield serve.conflict("groups", "must not have the name of a serve")
        if known and not known.issuperset(_roles(serve)):
            key = "gpu_role" if serve.has("gpu_role") else "gpu_roles"
            yield _reference(serve, key, "must name gpu_roles of the set")


def _check_runtime(serve: Table) -> Iterator[ConfigProblem]:
    runtime = serve.get("runtime")
    if runtime is None:
        return
    is_native = runtime == Runtime.NATIVE
    needed = "command" if is_native else "container"
    foreign = _DOCKER_ONLY if is_native else _NATIVE_ONLY
    if not serve.has(needed):
        yield serve.missing(needed, f"is required with runtime {runtime}")
    for key in foreign:
        if serve.has(key):
            yield serve.conflict(key, f"must be absent with runtime {runtime}")
    if serve.get("up") and not _is_shell_text(str(serve.get("up"))):
        yield serve.conflict("up", "must be words as a shell would split them, quotes closed")


def _is_shell_text(text: str) -> bool:
    try:
        return bool(shlex.split(text))
    except ValueError:
        return False


def _check_mode(serve: Table) -> Iterator[ConfigProblem]:
    is_exclusive = serve.has("operating_mode")
    if serve.has("gpu_role") and serve.has("gpu_roles"):
        yield serve.conflict("gpu_roles", "must be absent with gpu_role")
    if is_exclusive and not serve.has("gpu_roles"):
        yield serve.missing("gpu_roles", "is required with operating_mode")
    if is_exclusive and serve.get("tensor_parallel_size") != _EXCLUSIVE_PARALLEL:
        yield serve.conflict("tensor_parallel_size", "must be 2 with operating_mode")
    pair = [serve.has(key) for key in ("router_config", "rollback_router_config")]
    if pair[0] != pair[1]:
        yield serve.conflict("router_config", "goes together with rollback_router_config")
    if any(pair) and not (is_exclusive and serve.has("router_tier")):
        yield serve.conflict("router_config", "needs operating_mode and router_tier")


def _texts(row: Table, key: str) -> tuple[str, ...]:
    values = row.get(key)
    return values if isinstance(values, tuple) else ()


def _roles(serve: Table) -> tuple[str, ...]:
    one = serve.get("gpu_role")
    return (one,) if isinstance(one, str) and one else _texts(serve, "gpu_roles")


def _check_promotion(plan: Table, serves: Sequence[Table]) -> Iterator[ConfigProblem]:
    by_name = {serve.get("name"): serve for serve in serves}
    if plan.get("target") and plan.get("target") == plan.get("rollback"):
        yield plan.conflict("rollback", "must be another serve than target")
    affected = _texts(plan, "affected_tiers")
    ports = [
        serve.get("port")
        for key in ("target", "rollback")
        if (serve := by_name.get(plan.get(key))) is not None
    ]
    if len(ports) > 1 and len(set(ports)) == 1 and ports[0] is not None:
        yield plan.conflict("target", "must have another port than rollback: both run for a while")
    for key in ("target", "rollback"):
        name = plan.get(key)
        serve = by_name.get(name)
        if name is None:
            continue
        if serve is None:
            yield _reference(plan, key, "must name a serve of the set")
        elif serve.get("router_tier") and serve.get("router_tier") not in affected:
            yield plan.conflict("affected_tiers", "must have the router_tier of both serves")
