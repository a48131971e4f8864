"""docs/CONFIGURATION.md: its examples load, and its tables say what the parser does."""

import json
import re
from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from anvil_trio.config import router, server, tiers
from anvil_trio.config.model import (
    AudioRoute,
    Compat,
    PurposeModel,
    ReplicaIdentity,
    ReplicaMember,
    RouterSettings,
    ServerSettings,
    Tier,
)
from anvil_trio.config.parse import ConfigError, parse_config
from anvil_trio.config.pending import PENDING_IN_SERVER
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "CONFIGURATION.md").read_text(encoding="utf-8")
COMPLETE = re.findall(r"<!-- complete -->\n```toml\n(.*?)```", PAGE, re.DOTALL)
REFUSED = re.findall(r"<!-- refused -->\n```toml\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| (.*) \|$", re.MULTILINE)

MODELS: Mapping[str, type[BaseModel]] = {
    "## `[server]`": server._ServerTable,
    "## `[router]`": router._RouterTable,
    "## `[[router.tiers]]`": tiers._TierTable,
    "### `[[router.tiers.replicas]]`": ReplicaMember,
    "### `[router.tiers.replica_identity]`": ReplicaIdentity,
    "### `[router.tiers.compat]`": tiers._CompatTable,
    "## `[[router.purpose_models]]`": PurposeModel,
    "## `[[router.audio_routes]]`": AudioRoute,
}
TABLES_OF = {
    "## `[router]`": {"tiers": "required", "model_routes": "required"},
    "## `[[router.tiers]]`": {
        "replicas": "absent",
        "replica_identity": "absent",
        "compat": "`{}`",
        "base_url": "absent",
        "dialect": "required",
        "privacy": "required",
        "tool_support": "required",
    },
    "## `[server]`": {"shutdown_timeout_s": "`total_timeout_s`"},
}
PENDING = {
    "## `[server]`": PENDING_IN_SERVER,
    "## `[router]`": (),
    "## `[[router.tiers]]`": (),
}


def section(heading: str) -> dict[str, tuple[str, str]]:
    """The rows of the table below a heading: key, default and rule."""
    text = PAGE.split(f"\n{heading}\n", 1)[1]
    table = re.split(r"^#", text, maxsplit=1, flags=re.MULTILINE)[0]
    return {key: (default, rule) for key, default, rule in ROW.findall(table)}


def shown(value: object) -> str:
    """A default as the page shows it."""
    if value is None:
        return "absent"
    if isinstance(value, float):
        return f"`{value:g}`"
    if isinstance(value, Mapping):
        return f"`{json.dumps(dict(value))}`"
    return f"`{json.dumps(value)}`"


def expected(heading: str) -> dict[str, str]:
    """Key and default of each field of a table, as the page should show them."""
    defaults = {
        name: "required"
        if field.is_required()
        else shown(field.get_default(call_default_factory=True))
        for name, field in MODELS[heading].model_fields.items()
    }
    return {**defaults, **TABLES_OF.get(heading, {})}


@pytest.mark.parametrize("text", COMPLETE, ids=range(len(COMPLETE)))
def test_each_complete_example_loads(text: str) -> None:
    """It is a whole configuration, on loopback, that a reader can start from."""
    config = parse_config(text.encode())
    urls = [tier.endpoint_of(member) for tier in config.tiers for member in tier.member_ids]
    assert all(url.startswith(("http://127.0.0.1:", "http://[::1]:")) for url in urls)


def test_there_is_an_example_of_each_shape() -> None:
    """Two members on one machine, a direct tier, clients, and a tier with a media policy."""
    shown = [parse_config(text.encode()) for text in COMPLETE]
    assert [len(config.tiers[0].replicas) for config in shown] == [2, 0, 0, 0]
    assert [bool(config.server.client_limits) for config in shown] == [False, False, True, False]
    assert shown[3].tiers[0].media_policy is not None


def test_the_refused_example_is_told_exactly_this() -> None:
    """The text below it is the whole message."""
    ((text, message),) = REFUSED
    with pytest.raises(ConfigError) as caught:
        parse_config(text.encode())
    assert str(caught.value) == message.strip()


def test_no_toml_block_escapes_these_tests() -> None:
    """Each is marked as complete or as refused."""
    assert PAGE.count("```toml") == len(COMPLETE) + len(REFUSED)


@pytest.mark.parametrize("heading", MODELS)
def test_each_table_lists_every_key_with_its_default(heading: str) -> None:
    """No key is missing, none is too many, and the defaults are the parser's."""
    found = {key: default for key, (default, _) in section(heading).items()}
    assert found == expected(heading)


@pytest.mark.parametrize("heading", PENDING)
def test_what_does_not_exist_yet_is_marked(heading: str) -> None:
    """The marked keys are those that the parser refuses."""
    marked = {key for key, (_, rule) in section(heading).items() if "*not yet" in rule.lower()}
    assert marked == set(PENDING[heading])


@pytest.mark.parametrize(
    "model", [ServerSettings, RouterSettings, Tier, ReplicaMember, ReplicaIdentity, Compat]
)
def test_every_setting_of_the_program_is_on_the_page(model: type[BaseModel]) -> None:
    """By name; only the media policy is derived, from `params.capacity`."""
    names = set(model.model_fields) - {"media_policy"}
    assert not {name for name in names if f"`{name}`" not in PAGE}
