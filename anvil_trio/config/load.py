"""The file access of the configuration: the file itself, `.env` files, TLS files, the policy.

What is asked of the environment and of the current directory is handed in, so that the answer
depends on nothing else. No message names a path, a variable or a value.
"""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from anvil_trio.config.access import read_clients
from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.media import make_media
from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.config.parse import parse_config
from anvil_trio.config.policy import POLICY_KEY, ClientCredential
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.config.regular import read_regular
from anvil_trio.config.secrets import Secrets, look_up, parse_env

__all__ = [
    "check_tls_files",
    "config_path",
    "current_folder",
    "expand_path",
    "home_file",
    "home_path",
    "load_config",
    "read_config",
    "resolve_secret",
    "resolve_secrets",
    "topology_path",
    "with_policy",
]

_HOME = "ANVIL_SERVING_HOME"
_NO_HOME_ENV = "ANVIL_SERVING_NO_HOME_ENV"
_CONFIG_NAME = "router.toml"
_TOPOLOGY_NAME = "operator-topology.toml"
_ENV_NAME = ".env"
_NOWHERE = Path("/nonexistent")


def config_path(cli_path: str | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """Where the configuration is: as told, else in the operator's home, else in `cwd`.

    A path that was told is taken whether or not there is a file; `~` is expanded. The operator's
    home is `$ANVIL_SERVING_HOME`, `~/.anvil-serving` by default.
    """
    if cli_path is not None:
        return cwd / expand_path(cli_path, environ)
    at_home = home_file(_CONFIG_NAME, environ, cwd)
    return at_home if os.path.isfile(at_home) else cwd / _CONFIG_NAME  # noqa: PTH113 - never raises


def current_folder() -> Path:
    """The current directory; one that was taken away is a folder in which nothing is found."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def home_path(environ: Mapping[str, str], cwd: Path) -> Path:
    """The operator's home: `$ANVIL_SERVING_HOME`, else `~/.anvil-serving`; it need not exist."""
    return cwd / _operator_home(environ)


def topology_path(cli_path: str | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """Where the declared topology is: as told, else in the operator's home."""
    if cli_path is not None:
        return cwd / expand_path(cli_path, environ)
    return cwd / _operator_home(environ) / _TOPOLOGY_NAME


def read_config(path: Path, *, must_be_regular: bool = False) -> bytes:
    """The bytes of the file, and at most one more than a configuration may have.

    That one tells `parse_document` of an overflow. Raises ConfigError if the file cannot be read;
    one that must be regular is then no pipe, whose writer would be waited for.
    """
    try:
        if must_be_regular:
            return read_regular(path, MAX_CONFIG_BYTES)
        with path.open("rb") as file:
            return file.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        message = "there is no such file"
    except (OSError, ValueError):  # ValueError: a path with a null character
        message = "the file cannot be read"
    raise ConfigError([ConfigProblem("", ProblemCode.UNREADABLE, message)])


def load_config(path: Path) -> RouterConfig:
    """The configuration in the file at `path`, read once; raises ConfigError and nothing else."""
    return parse_config(read_config(path))


def expand_path(text: str, environ: Mapping[str, str]) -> Path:
    """`text` as a path, with `~` at its beginning standing for the user's home."""
    if text == "~" or text.startswith("~/"):
        return _user_home(environ) / text[2:]
    return Path(text)


def home_file(name: str, environ: Mapping[str, str], cwd: Path) -> Path:
    """Where a file of that name is in the operator's home, whether or not it is there."""
    return home_path(environ, cwd) / name


def resolve_secret(name: str, environ: Mapping[str, str]) -> str | None:
    """The value of a variable, trimmed; "" if it is set to nothing, None if it is not set.

    Asked are `environ`, then `$ANVIL_SERVING_HOME/.env`, then `~/.env` (unless
    ANVIL_SERVING_NO_HOME_ENV=1). The first that names the variable decides. A `.env` file that
    cannot be read, is no UTF-8 or is above 1 MiB names nothing.
    """
    return look_up(name, _sources(environ))


def resolve_secrets(config: RouterConfig, environ: Mapping[str, str]) -> Secrets:
    """Every secret that the configuration names and that is set, and the clients of its policy.

    Raises ConfigError if the operator token is named but not set or empty, because the router would
    be open to all, if a secret could not travel in a header, if the authorization policy is not
    valid as a whole, and if the operation service is not told all that it needs. A tier's variable
    may be unset or empty: its engines are then asked without a key.
    """
    sources = list(_sources(environ))
    secrets, problems = dict[str, str](), list[ConfigProblem]()
    for path, name, is_required in _named_secrets(config):
        value = look_up(name, sources)
        if is_required and not value:
            problems.append(_unresolved(path, "must name a variable that is set and not empty"))
        elif value is not None and not value.isprintable():
            problems.append(_unresolved(path, "must name a variable whose value is printable"))
        elif value:
            secrets[name] = value
    if problems:
        raise ConfigError(problems)
    clients = _clients(config.server, secrets, environ)
    media = make_media(
        config.server, partial(look_up, sources=sources), partial(_media_path, environ)
    )
    return Secrets(secrets, clients, media)


def with_policy(
    config: RouterConfig, cli_path: str, environ: Mapping[str, str], cwd: Path
) -> RouterConfig:
    """`config` with the authorization policy at `cli_path` in place of the one it names itself.

    Raises ConfigError if `config` has no authentication, which a policy is part of.
    """
    if config.server.auth_env is None:
        raise ConfigError([ConfigProblem(POLICY_KEY, ProblemCode.CONFLICT, "needs auth_env")])
    path = str(cwd / expand_path(cli_path, environ))
    server = config.server.model_copy(update={"authorization_policy_path": path})
    return config.model_copy(update={"server": server})


def check_tls_files(server: ServerSettings, environ: Mapping[str, str]) -> None:
    """Raise ConfigError, naming the key, unless the TLS files can be read now."""
    named = (("tls_certfile", server.tls_certfile), ("tls_keyfile", server.tls_keyfile))
    problems = [
        ConfigProblem(
            f"server.{key}", ProblemCode.FILE_UNREADABLE, "must name a file that can be read"
        )
        for key, text in named
        if text is not None and not _is_readable(expand_path(text, environ))
    ]
    if problems:
        raise ConfigError(problems)


def _clients(
    server: ServerSettings, secrets: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[ClientCredential, ...]:
    if server.authorization_policy_path is None:
        return ()
    assert server.auth_env is not None, "the parser asks for both"
    path = expand_path(server.authorization_policy_path, environ)
    return read_clients(path, secrets[server.auth_env], partial(resolve_secret, environ=environ))


def _media_path(environ: Mapping[str, str], text: str) -> Path:
    return expand_path(text, environ) if text else _operator_home(environ)


def _operator_home(environ: Mapping[str, str]) -> Path:
    return expand_path(environ.get(_HOME) or "~/.anvil-serving", environ)


def _user_home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME")
    try:
        return Path(home) if home else Path.home()
    except RuntimeError:  # a user whom the machine does not know
        return _NOWHERE


def _sources(environ: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    yield environ
    yield _env_file(_operator_home(environ))
    if environ.get(_NO_HOME_ENV) != "1":
        yield _env_file(_user_home(environ))


def _env_file(folder: Path) -> Mapping[str, str]:
    try:
        with (folder / _ENV_NAME).open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
        return parse_env(data.decode("utf-8")) if len(data) <= MAX_CONFIG_BYTES else {}
    except (OSError, ValueError):
        return {}


def _named_secrets(config: RouterConfig) -> Iterator[tuple[str, str, bool]]:
    """Key path, variable, and whether it has to be set."""
    if config.server.auth_env is not None:
        yield "server.auth_env", config.server.auth_env, True
    for index, tier in enumerate(config.tiers):
        yield f"router.tiers[{index}].auth_env", tier.auth_env, False
    for index, model in enumerate(config.purpose_models):
        if model.auth_env is not None:
            yield f"router.purpose_models[{index}].auth_env", model.auth_env, False
    for index, route in enumerate(config.audio_routes):
        if route.auth_env is not None:
            yield f"router.audio_routes[{index}].auth_env", route.auth_env, False


def _unresolved(path: str, message: str) -> ConfigProblem:
    return ConfigProblem(path, ProblemCode.SECRET_UNRESOLVED, message)


def _is_readable(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.read(1)
    except (OSError, ValueError):
        return False
    return True
