"""Configuration files for tests: each key has its TOML text, so that a row can change just one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = [
    "AUDIO",
    "DIRECT",
    "IDENTITY",
    "MEMBER_A",
    "MEMBER_B",
    "PURPOSE",
    "REPLICA",
    "Rule",
    "config",
    "direct",
    "in_order",
    "inline",
    "replica",
    "rows",
]

Keys = Mapping[str, str | None]

DIRECT: Keys = {
    "id": '"primary"',
    "base_url": '"http://127.0.0.1:8001/v1"',
    "dialect": '"openai"',
    "privacy": '"local"',
    "tool_support": "true",
    "auth_env": '"ENGINE_KEY"',
    "context_limit": "8192",
}
MEMBER_A: Keys = {
    "id": '"member-a"',
    "base_url": '"http://127.0.0.1:8001/v1"',
    "host_id": '"host-one"',
    "resource_id": '"resource-a"',
    "qualification_ref": '"qual:2026-a"',
}
MEMBER_B: Keys = {
    **MEMBER_A,
    "id": '"member-b"',
    "base_url": '"http://127.0.0.1:8002/v1"',
    "resource_id": '"resource-b"',
    "qualification_ref": '"qual:2026-b"',
}
IDENTITY: Keys = {
    "model_revision": '"rev-1"',
    "engine_version": '"0.1.0+cu12"',
    "image_digest": f'"sha256:{"0a" * 32}"',
    "config_fingerprint": f'"sha256:{"1b" * 32}"',
}
PURPOSE: Keys = {
    "id": '"embedder"',
    "kind": '"embedding"',
    "model": '"embed.main"',
    "base_url": '"http://127.0.0.1:8003/v1"',
}
AUDIO: Keys = {
    "id": '"listener"',
    "purpose": '"stt"',
    "model": '"served-stt"',
    "base_url": '"http://127.0.0.1:8004/v1"',
}


class Rule(NamedTuple):
    """One sentence of the rules: a file that obeys it, one that does not, and what is said."""

    name: str
    good: str
    bad: str
    message: str


def in_order(*lines: str) -> str:
    """A message of several lines, sorted by key path."""
    places = [(line.split(": ")[0], line) for line in lines]
    return "\n".join(line for _, line in sorted(places))


def inline(keys: Keys) -> str:
    """An inline table; a key whose text is None is left out."""
    return "{ " + ", ".join(f"{key} = {text}" for key, text in keys.items() if text) + " }"


def rows(*tables: Keys) -> str:
    """An array of inline tables."""
    return f"[{', '.join(map(inline, tables))}]"


def direct(**changes: str | None) -> str:
    """A tier with one endpoint."""
    return inline({**DIRECT, **changes})


def replica(*members: Keys, identity: str | None = inline(IDENTITY), **changes: str | None) -> str:
    """A tier with replicas; two, unless they are given."""
    return inline({
        **DIRECT,
        "base_url": None,
        "model": '"served-model"',
        "model_identity": "true",
        "health_path": '"/health"',
        "replicas": rows(*(members or (MEMBER_A, MEMBER_B))),
        "replica_identity": identity,
        **changes,
    })


REPLICA = replica()


def config(
    *tiers: str,
    server: Sequence[str] = (),
    router: Sequence[str] = (),
    routes: str = '{ "llm.primary" = "primary" }',
    more: str = "",
) -> str:
    """A whole file; one direct tier, unless tiers are given."""
    return "\n".join([
        "[server]",
        *server,
        "[router]",
        *router,
        f"tiers = [{', '.join(tiers or (direct(),))}]",
        f"model_routes = {routes}",
        more,
    ])
