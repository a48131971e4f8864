"""`anvil-serving router status`: the router itself, and how much runs and waits in each tier."""

import os
from collections.abc import Mapping

import click
import msgspec
from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from anvil_trio.cli.reach import Reach, Told, reach_params, resolve_reach
from anvil_trio.cli.reading import tell
from anvil_trio.cli.replies import StatusPage, plain_text, read_page
from anvil_trio.cli.router_client import ask_router
from anvil_trio.config.load import current_folder

__all__ = ["STATUS_PATH", "ask_status", "render_status", "status"]

STATUS_PATH = "/v1/router/status"


async def ask_status(reach: Reach) -> dict[str, JsonValue]:
    """The status page, key by key. Raises CommandFailed."""
    page = read_page(await ask_router(reach.question(STATUS_PATH)), StatusPage)
    found: dict[str, JsonValue] = msgspec.to_builtins(page)
    return found


def render_status(page: Mapping[str, JsonValue]) -> RenderableType:
    """Pure: the page as a person reads it."""
    tiers, counts, aliases = page["tiers"], page["tier_counts"], page["model_aliases"]
    assert isinstance(tiers, list)
    assert isinstance(counts, dict)
    assert isinstance(aliases, list)
    facts = Table.grid(padding=(0, 2))
    facts.add_column()
    facts.add_column(overflow="fold")  # a digest is whole or of no use
    for key, value in (
        ("version", page["package_version"]),
        ("started", page["started_at"]),
        ("up for", f"{page['uptime_seconds']} s"),
        ("config", page["config_sha256"]),
        ("installed", page["installed_config_sha256"]),
        ("aliases", " ".join(map(_shown, aliases))),
        ("tiers", f"{counts['enabled']} of {counts['configured']} enabled"),
    ):
        facts.add_row(Text(key, style="dim"), Text(_shown(value)))
    table = Table("tier", "state", "running", "waiting")
    for tier in tiers:
        assert isinstance(tier, dict)
        cells = (tier["id"], tier["state"], tier["active_requests"], tier["waiting_requests"])
        table.add_row(*(Text(_shown(cell)) for cell in cells))
    return Group(facts, table)


def _shown(value: JsonValue) -> str:
    return plain_text(None if value is None else str(value)) or "?"


def _run(
    config: str | None,
    router_url: str | None,
    auth_env: str | None,
    timeout: float | None,
    *,
    is_json: bool,
) -> None:
    async def ask() -> dict[str, JsonValue]:
        told = Told(config, router_url, auth_env, timeout)
        return await ask_status(resolve_reach(told, os.environ, current_folder()))

    tell("router status", ask, render_status, is_json=is_json)


status = click.Command(
    "status",
    callback=_run,
    params=[
        *reach_params(),
        click.Option(["--json", "is_json"], is_flag=True, help="Answer in one JSON object."),
    ],
    help="Show the router's version, uptime and configuration, and each tier's load.",
)
