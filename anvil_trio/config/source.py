"""Where a running router's configuration comes from: what it was told at start, nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anvil_trio.config.load import read_config, resolve_secrets, with_policy
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.parse import parse_config
from anvil_trio.config.secrets import Secrets

__all__ = ["ConfigSource"]


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """One path, with the environment and the policy that the command line chose.

    What raises ConfigError raises nothing else.
    """

    path: Path = field(repr=False)
    environ: Mapping[str, str] = field(repr=False)
    policy_path: str | None = field(default=None, repr=False)
    cwd: Path = field(default=Path(), repr=False)

    def read(self) -> bytes:
        """The regular file's bytes as they are now, opened once; ConfigError if it is none."""
        return read_config(self.path, must_be_regular=True)

    def parse(self, data: bytes) -> RouterConfig:
        """The configuration that `data` holds; ConfigError with all that is wrong with it."""
        config = parse_config(data)
        if self.policy_path is None:
            return config
        return with_policy(config, self.policy_path, self.environ, self.cwd)

    def load(self) -> RouterConfig:
        """The configuration in the file as it is at start, when it may also be a pipe."""
        return self.parse(read_config(self.path))

    def resolve(self, config: RouterConfig) -> Secrets:
        """The secrets behind its names; ConfigError if one that is needed is not to be had."""
        return resolve_secrets(config, self.environ)
