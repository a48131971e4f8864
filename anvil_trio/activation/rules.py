"""Which changes a running router can make, and which only a restart can. Pure."""

from anvil_trio.config.model import RouterConfig
from anvil_trio.config.secrets import Secrets
from anvil_trio.errors import Code, Problem, problem

__all__ = ["find_restart_need"]

_NEED = problem(Code.ACTIVATION_REQUIRES_RESTART)


def find_restart_need(
    old: RouterConfig, new: RouterConfig, old_secrets: Secrets, new_secrets: Secrets
) -> Problem | None:
    """The refusal of a change that a running router cannot make; None if it can.

    `[server]` is what the process was started with, and so are the credentials that both
    configurations name: whoever was let in, or was sent, must not change behind running requests.
    A credential that only the new one names is new, and welcome.
    """
    if new.server != old.server or new_secrets.clients != old_secrets.clients:
        return _NEED
    if new_secrets.media != old_secrets.media:
        return _NEED  # the operation service lives as long as the process
    shared = _credentials(old) & _credentials(new)
    if new.router.audio_max_concurrency != old.router.audio_max_concurrency:
        return _NEED  # the pool counts for as long as the process lives
    if any(old_secrets.get(name) != new_secrets.get(name) for name in shared):
        return _NEED
    return None


def _credentials(config: RouterConfig) -> set[str]:
    named = {tier.auth_env for tier in config.tiers}
    others = (config.server.auth_env, *(service.auth_env for service in config.services))
    return named | {name for name in others if name is not None}
