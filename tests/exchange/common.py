"""What the exchange tests share: a house with short waits, and how to read its ends."""

import json

from anvil_trio.config.model import ServerSettings
from tests.support.small_house import SmallHouse, config_of, open_small_house

SERVER = ServerSettings(
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
)


def house(**more):
    """A house with short waits."""
    return open_small_house(config_of(server=SERVER.model_copy(update=more)))


def last_error(received: bytes) -> dict[str, object]:
    """The error object of a stream's last frame."""
    frame = received.removesuffix(b"\n\n").rpartition(b"data: ")[2]
    error: dict[str, object] = json.loads(frame)["error"]
    return error


async def expect_one(small: SmallHouse, workload: str, reason: str) -> None:
    """One record with one attempt on a, b untouched, everything given back."""
    await small.assert_at_rest()
    [record] = small.records
    assert record.workload_outcome == workload
    assert [attempt.reason for attempt in record.attempts] == [reason]
    assert record.replica_member_id == "a"
    assert small.engine("b").attempts == 0
