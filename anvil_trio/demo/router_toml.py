"""A router's configuration over engines that serve one model, in the words of any other."""

import json
from collections.abc import Mapping, Sequence

from anvil_trio.names import MemberId

__all__ = ["ENGINE_KEY_ENV", "ROUTER_KEY_ENV", "member_ids", "render_router_toml"]

ROUTER_KEY_ENV = "ANVIL_DEMO_TOKEN"
"""The variable that holds the key callers must show."""

ENGINE_KEY_ENV = "ANVIL_DEMO_ENGINE_KEY"
"""The variable that holds the key for the engines; they are asked without one if it is unset."""

_SETTINGS = f"""\
[server]
auth_env = "{ROUTER_KEY_ENV}"
shutdown_timeout_s = 5
"""

_MEDIA = """\
media_principal = "demo"
media_scopes = ["media:read", "media:submit", "media:cancel"]
media_public_origin = {origin}
media_backend = "demo"
"""

_TIER = f"""
[[router.tiers]]
id = {{name}}
dialect = "openai"
privacy = "local"
tool_support = true
auth_env = "{ENGINE_KEY_ENV}"
model = {{model}}
model_identity = true
health_path = "/health"
context_limit = {{context_limit}}
"""

_IDENTITY = f"""
[router.tiers.replica_identity]
model_revision = "demo"
engine_version = "demo"
image_digest = "sha256:{"0" * 64}"
config_fingerprint = "sha256:{"0" * 64}"
"""

_REPLICA = """
[[router.tiers.replicas]]
id = "{id}"
base_url = {url}
host_id = "this-host"
resource_id = "engine-{id}"
qualification_ref = "demo:{id}"
"""


def member_ids(count: int) -> tuple[MemberId, ...]:
    """The names of up to 16 members: a, b, c and so on."""
    return tuple(MemberId(letter) for letter in "abcdefghijklmnop"[:count])


def render_router_toml(
    routes: Mapping[str, Sequence[str]],
    *,
    model: str,
    context_limit: int,
    log_path: str | None = None,
    media_origin: str | None = None,
    is_realtime: bool = False,
) -> str:
    """The configuration of a router with one tier per alias of `routes`, over the URLs given there.

    One URL makes a direct tier, more make a replica tier whose members are `member_ids`. Every
    value is written as a TOML string or number whatever it holds; whether it is fit for a router is
    for the parser to say. With `media_origin` it has the operation service, over the embedded
    backend.
    """
    log = "" if log_path is None else f"decision_log_path = {_quoted(log_path)}\n"
    aliases = "".join(f"{_quoted(alias)} = {_quoted(alias)}\n" for alias in routes)
    tiers = [
        _TIER.format(name=_quoted(alias), model=_quoted(model), context_limit=context_limit)
        + ("realtime = true\n" if is_realtime else "")
        + _members(urls)
        for alias, urls in routes.items()
    ]
    media = "" if media_origin is None else _MEDIA.format(origin=_quoted(media_origin))
    return "".join([_SETTINGS, log, media, "\n[router.model_routes]\n", aliases, *tiers])


def _members(urls: Sequence[str]) -> str:
    if len(urls) == 1:
        return f"base_url = {_quoted(urls[0])}\n"
    replicas = [
        _REPLICA.format(id=member_id, url=_quoted(url))
        for member_id, url in zip(member_ids(len(urls)), urls, strict=True)
    ]
    return "".join([_IDENTITY, *replicas])


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's, which leaves only DEL to escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
