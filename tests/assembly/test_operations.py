"""A whole house with the operation service: opened at start, counted, closed at the end."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs
from trio.testing import MockClock

from anvil_trio.assembly import open_generation, open_house
from anvil_trio.config.media import MediaSettings
from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.secrets import Secrets
from anvil_trio.operations.model import Operation, State
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.operations.stage import ME, ask, seen, settings
from tests.support.asgi import request
from tests.support.small_house import config_of, direct_tier

AUTH = (b"authorization", b"Bearer operator-token")


def alone() -> RouterConfig:
    """A router without tiers and routes."""
    return RouterConfig(server=ServerSettings(auth_env="TOKEN"), tiers=(), routes={})


async def test_a_house_has_operations_if_they_are_set_up(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Also one without tiers; without the settings there are none."""
    async with open_house(config_of(direct_tier())) as house:
        assert house.operations is None
    async with open_house(alone(), media=settings(tmp_path)) as house:
        assert house.operations is not None
        assert house.operations.capabilities().backend == "demo"


async def test_what_cannot_be_used_refuses_the_start(tmp_path: Path) -> None:
    """By the variable's name, and never by the path."""
    broken = settings(tmp_path, workflow_registry=tmp_path / "nothing.toml")
    with pytest.raises(ConfigError) as caught:
        async with open_house(alone(), media=broken):
            pass
    assert str(caught.value).startswith("ANVIL_MEDIA_WORKFLOW_REGISTRY: ")
    assert "nothing" not in str(caught.value)


async def test_operations_are_counted_in_the_metrics(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """By workflow and state, zero included; a house without them announces the metric alone."""
    assert await _counted(None) == set()
    found = await _counted(settings(tmp_path))
    assert len(found) == 2 * len(State)
    done = 'anvil_router_operations{state="completed",workflow="picture.discs"} 1.0'
    idle = 'anvil_router_operations{state="running",workflow="picture.checked"} 0.0'
    assert {done, idle} <= found


async def test_a_house_keeps_its_word_over_a_restart(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The embedded backend forgets its jobs with the house; the next house draws them again."""
    media = settings(tmp_path)
    with capture_logs() as lines:
        async with open_house(alone(), media=media) as house:
            assert house.operations is not None
            operation = await house.operations.submit(ME, ask())
            assert isinstance(operation, Operation)
        async with open_house(alone(), media=media) as house:
            assert house.operations is not None
            assert (await seen(house.operations, operation.id))[-1] == "completed"
    assert lines == []


async def _counted(media: MediaSettings | None) -> set[str]:
    """The samples of operations after one has ended; labels in the order of their names."""
    config = alone()
    async with (
        open_house(config, media=media) as house,
        open_generation(house, config, Secrets({})) as generation,
    ):
        if house.operations is not None:
            operation = await house.operations.submit(ME, ask())
            assert isinstance(operation, Operation)
            await seen(house.operations, operation.id)
        app = App(house, lambda: generation, Authenticator("operator-token"))
        answer = await request(app, "GET", "/metrics", headers=[AUTH])
    lines = answer.body.decode().splitlines()
    return {_sorted(line) for line in lines if line.startswith("anvil_router_operations{")}


def _sorted(line: str) -> str:
    """The sample with its labels in the order of their names."""
    name, _, rest = line.partition("{")
    labels, _, number = rest.partition("}")
    return f"{name}{{{','.join(sorted(labels.split(',')))}}}{number}"
