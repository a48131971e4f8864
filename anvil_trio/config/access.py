"""The authorization policy at start: the file, and the credential behind each of its clients.

Read once. A policy with a fault in any part is refused as a whole, because a client that silently
is not there looks to its user like a wrong key, and a limit on it would bound nobody. No message
names a path, a variable, a client or a value.
"""

from collections.abc import Callable
from pathlib import Path
from unicodedata import category

from anvil_trio.config.policy import (
    MAX_POLICY_BYTES,
    POLICY_KEY,
    ClientCredential,
    PolicyClient,
    parse_policy,
)
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.protected import read_protected

__all__ = ["read_clients"]

_MIN_BYTES = 16
_MAX_BYTES = 4096
_MAX_FILE_BYTES = 2 * _MAX_BYTES  # with blanks round the credential

_PROTECTED = "a regular file that can be read, by an absolute path without a symbolic link in it"
_FIT = f"a credential of {_MIN_BYTES} to {_MAX_BYTES} bytes of UTF-8 without control characters"
_UNUSABLE = {
    "credential_env": f"must name a variable that holds {_FIT}",
    "credential_file": f"must name {_PROTECTED}, that holds {_FIT}",
}


def read_clients(
    path: Path, operator_token: str, variable: Callable[[str], str | None]
) -> tuple[ClientCredential, ...]:
    """The clients of the policy at `path`, each with its credential.

    `variable` gives the value of an environment variable, or None. Raises ConfigError with all that
    is wrong with the policy or, if the policy itself is right, with what it refers to.
    """
    problems, places = list[ConfigProblem](), list[tuple[str, str]]()
    found = list[ClientCredential]()
    for index, client in enumerate(parse_policy(_policy_bytes(path))):
        place = f"{POLICY_KEY}.clients[{index}].{_reference(client)}"
        credential = _credential(client, variable)
        if credential is None:
            problems.append(_unresolved(place, _UNUSABLE[_reference(client)]))
            continue
        if credential == operator_token:
            problems.append(_unresolved(place, "must not lead to the operator's token"))
        places.append((place, credential))
        found.append(ClientCredential(client.client_id, client.scopes, credential))
    problems += find_duplicates(places, "must not lead to the credential of another client")
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def _policy_bytes(path: Path) -> bytes:
    try:
        return read_protected(path, MAX_POLICY_BYTES)
    except (OSError, ValueError):
        raise ConfigError([
            ConfigProblem(POLICY_KEY, ProblemCode.FILE_UNREADABLE, f"must name {_PROTECTED}")
        ]) from None


def _reference(client: PolicyClient) -> str:
    return "credential_env" if client.credential_env is not None else "credential_file"


def _credential(client: PolicyClient, variable: Callable[[str], str | None]) -> str | None:
    """The credential without the blanks round it, if there is one and it is fit to be one."""
    if client.credential_env is not None:
        return _fit(variable(client.credential_env))
    assert client.credential_file is not None, "a client has one reference"
    try:
        data = read_protected(Path(client.credential_file), _MAX_FILE_BYTES)
        return _fit(data.decode("utf-8")) if len(data) <= _MAX_FILE_BYTES else None
    except (OSError, ValueError):
        return None


def _fit(text: str | None) -> str | None:
    credential = (text or "").strip()
    try:
        size = len(credential.encode("utf-8"))
    except UnicodeEncodeError:  # the environment may hold bytes that are no UTF-8
        return None
    is_fit = _MIN_BYTES <= size <= _MAX_BYTES and all(category(char) != "Cc" for char in credential)
    return credential if is_fit else None


def _unresolved(place: str, message: str) -> ConfigProblem:
    return ConfigProblem(place, ProblemCode.SECRET_UNRESOLVED, message)
