"""What was quiesced before a restart is so again, before anybody can ask for a lease."""

import json

import pytest
from structlog.testing import capture_logs

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.assembly import open_house
from anvil_trio.config.model import ServerSettings
from anvil_trio.config.problems import ConfigError
from anvil_trio.intent.intents import Intents
from anvil_trio.names import LEGACY_CLIENT, MemberId, TierId
from tests.support.small_house import TIER, config_of, direct_tier, replica_tier


@pytest.fixture
def path(tmp_path):
    """Where the file is."""
    return tmp_path / "state.json"


def config(path):
    """Two tiers, one of replicas, that remember in `path`."""
    server = ServerSettings(admission_state_path=str(path))
    return config_of(replica_tier(), direct_tier("second"), server=server)


def write(path, tiers=(), members=()):
    """A file of version 1."""
    entries = {name: {"state": "quiesced", "reason": why} for name, why in dict(tiers).items()}
    path.write_text(json.dumps({"version": 1, "tiers": entries, "members": dict(members)}))


async def test_a_quiesced_tier_starts_quiesced(path, autojump_clock):
    """R011: the first lease that is asked for is refused already."""
    write(path, {TIER: "upgrade"})
    async with open_house(config(path)) as house:
        assert await house.tiers[TIER].acquire(LEGACY_CLIENT) == Refused(RefusalReason.QUIESCED)
        assert house.management.intents.current.reason(TIER) == "upgrade"
        assert (await house.tiers[TierId("second")].inspect()).phase == "admitting"


async def test_a_quiesced_member_starts_quiesced(path, autojump_clock):
    """Its tier and its peer are open."""
    write(path, members={TIER: {"a": "promotion"}})
    async with open_house(config(path)) as house:
        snapshot = await house.tiers[TIER].inspect()
        assert snapshot.phase == "admitting"
        assert [member.is_quiesced for member in snapshot.members] == [True, False]


async def test_a_promotions_intent_ends_with_its_process(path, autojump_clock):
    """A tier quiesced for a promotion starts open, and no warning is due."""
    write(path, {TIER: "promotion", "second": "upgrade"})
    with capture_logs() as lines:
        async with open_house(config(path)) as house:
            assert (await house.tiers[TIER].inspect()).phase == "admitting"
            assert house.management.intents.current == Intents().quiesced(
                TierId("second"), None, "upgrade"
            )
    assert lines == []


async def test_what_the_configuration_lacks_is_ignored_with_one_warning(path, autojump_clock):
    """Unknown tiers, unknown members and members of a direct tier: counted, never named."""
    write(path, {"canary": "x"}, {"canary": {"a": "x"}, TIER: {"canary": "x"}, "second": {"": "x"}})
    with capture_logs() as lines:
        async with open_house(config(path)) as house:
            assert house.management.intents.current == Intents()
    assert lines == [{"event": "admission_state_ignored", "entries": 4, "log_level": "warning"}]


@pytest.mark.parametrize("text", ["{", '{"version": 1, "tiers": {}, "tiers": {}}'])
async def test_a_damaged_file_stops_the_start(text, path):
    """A router that does not know what was closed opens nothing."""
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"^server\.admission_state_path: "):
        async with open_house(config(path)):
            raise AssertionError("it must not open")


async def test_a_change_is_found_by_the_next_house(path):
    """The keeper writes to the file it was read from."""
    async with open_house(config(path)) as house:
        intents = house.management.intents
        await intents.keep(intents.current.quiesced(TIER, MemberId("b"), "disk"))
    async with open_house(config(path)) as house:
        assert house.management.intents.current.reason(TIER, MemberId("b")) == "disk"
