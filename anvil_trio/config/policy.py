"""The authorization policy, version 1: bytes to a frozen value, without opening a file.

A policy says which clients there are, what each may do and where its credential is kept. It never
holds a credential, but one may get into it by mistake: no problem shows a value, or the name of a
key that a policy does not have.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from anvil_trio.config.fields import Identifier
from anvil_trio.config.kinds import must
from anvil_trio.config.model import Frozen
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.table import Table, read_table
from anvil_trio.names import ClientId

__all__ = [
    "MAX_POLICY_BYTES",
    "POLICY_KEY",
    "ClientCredential",
    "ClientScope",
    "PolicyClient",
    "parse_policy",
]

MAX_POLICY_BYTES = 65_536
"""A policy is never larger; readers take one byte more, to see that there is one."""

POLICY_KEY = "server.authorization_policy_path"
"""The key path of the policy, under which its own problems are told."""

_MAX_CLIENTS = 32
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_FILE = re.compile(r"/[^\x00-\x1f\x7f]{0,511}")


class ClientScope(StrEnum):
    """What a policy may let a client do. What is the operator's is in no policy's gift."""

    INFERENCE_USE = "inference:use"
    WORKLOADS_READ = "workloads:read"


@dataclass(frozen=True, slots=True)
class PolicyClient:
    """One client of a policy, and the one place in which its credential is kept."""

    client_id: ClientId
    scopes: frozenset[ClientScope]
    credential_env: str | None = field(repr=False)
    credential_file: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClientCredential:
    """One client with the credential that makes a caller this client."""

    client_id: ClientId
    scopes: frozenset[ClientScope]
    credential: str = field(repr=False)


def parse_policy(data: bytes) -> tuple[PolicyClient, ...]:
    """The clients of the policy that `data` holds, in its order.

    Raises ConfigError with all that is wrong with it: of a whole that cannot be read nothing else
    is told. A policy is taken as a whole or not at all.
    """
    policy, problems = _read_object(_Policy, _read_json(data), POLICY_KEY)
    clients = list[Table]()
    for index, row in enumerate(_rows(policy)):
        client, found = _read_object(_Client, row, f"{policy.at('clients')}[{index}]")
        clients.append(client)
        problems += [*found, *_check_reference(client)]
    problems += _check_twins(clients)
    if problems:
        raise ConfigError(problems)
    return tuple(map(_client, clients))


def _are_clients(clients: tuple[object, ...]) -> bool:
    return len(clients) <= _MAX_CLIENTS


def _is_version(number: int) -> bool:
    return number == 1


def _are_scopes(scopes: tuple[str, ...]) -> bool:
    return bool(scopes) and len(set(scopes)) == len(scopes) and {*ClientScope}.issuperset(scopes)


def _is_variable(name: str) -> bool:
    return _VARIABLE.fullmatch(name) is not None


def _is_file(path: str) -> bool:
    return _FILE.fullmatch(path) is not None and "://" not in path


class _Policy(Frozen):
    schema_version: Annotated[int, must("must be 1", _is_version)]
    clients: Annotated[
        tuple[object, ...],
        must(f"must be an array of at most {_MAX_CLIENTS} objects", _are_clients),
    ]


class _Client(Frozen):
    # A reference that is not there is told by `has`; null is no text and refused.
    id: Identifier
    scopes: Annotated[
        tuple[str, ...],
        must(
            "must be an array of different scopes, at least one, out of: " + ", ".join(ClientScope),
            _are_scopes,
        ),
    ]
    credential_env: Annotated[
        str, must("must match [A-Za-z_][A-Za-z0-9_]{0,255}", _is_variable)
    ] = ""
    credential_file: Annotated[
        str,
        must(
            "must be an absolute path without :// and control characters, of at most 512"
            " characters",
            _is_file,
        ),
    ] = ""


def _read_json(data: bytes) -> object:
    if len(data) > MAX_POLICY_BYTES:
        raise _whole_policy(
            ProblemCode.TOO_LARGE, f"must name a file of at most {MAX_POLICY_BYTES} bytes"
        )
    try:
        root: object = json.loads(
            data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):  # not UTF-8, not JSON, a key twice, too deep
        raise _whole_policy(
            ProblemCode.INVALID, "must name a JSON file in UTF-8, without a key twice in one object"
        ) from None
    return root


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError
    return table


def _refuse_constant(_: str) -> object:
    raise ValueError  # NaN and the infinities are not JSON


def _read_object(model: type[Frozen], raw: object, path: str) -> tuple[Table, list[ConfigProblem]]:
    """What an object says, and what is wrong with it; its unknown keys are one problem."""
    if not isinstance(raw, dict):
        wrong_type = ConfigProblem(path, ProblemCode.INVALID, "must be an object")
        return read_table(model, raw, path), [wrong_type]
    known = {key: raw[key] for key in raw if key in model.model_fields}
    table = read_table(model, known, path)
    problems = list(table.problems)
    if len(known) < len(raw):
        message = f"must have no key but {', '.join(model.model_fields)}"
        problems.append(ConfigProblem(path, ProblemCode.UNKNOWN_KEY, message))
    return table, problems


def _rows(policy: Table) -> list[object]:
    rows = policy.raw.get("clients")
    return rows if isinstance(rows, list) else []


def _check_reference(client: Table) -> Iterator[ConfigProblem]:
    is_one = client.has("credential_env") != client.has("credential_file")
    if client.is_table and not is_one:
        message = "must have exactly one of credential_env and credential_file"
        yield ConfigProblem(client.path, ProblemCode.CONFLICT, message)


def _check_twins(clients: list[Table]) -> Iterator[ConfigProblem]:
    for key in ("id", "credential_env", "credential_file"):
        values = [(client.at(key), client.get(key)) for client in clients]
        yield from find_duplicates(
            ((path, value) for path, value in values if value), "must be unique in the policy"
        )


def _client(table: Table) -> PolicyClient:
    scopes = table.get("scopes")
    assert isinstance(scopes, tuple)
    return PolicyClient(
        client_id=ClientId(str(table.get("id"))),
        scopes=frozenset(map(ClientScope, scopes)),
        credential_env=str(table.get("credential_env")) or None,
        credential_file=str(table.get("credential_file")) or None,
    )


def _whole_policy(code: ProblemCode, message: str) -> ConfigError:
    return ConfigError([ConfigProblem(POLICY_KEY, code, message)])
