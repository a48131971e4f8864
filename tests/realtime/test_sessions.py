"""A session from its handshake to its record, on virtual time."""

import trio

from tests.realtime.fakes import EngineEnd, FakeClient
from tests.realtime.stage import open_stage


async def test_messages_pass_both_ways(autojump_clock):
    """Text and bytes reach the engine and come back in order; one record says so."""
    async with open_stage() as stage:
        end = EngineEnd(stage.nursery)
        stage.engine(end)
        client = await stage.begin(FakeClient())
        client.say("one", b"two", "three")
        assert await client.heard(3) == ["one", b"two", "three"]
        client.goodbye()
        await stage.over(client)
        await trio.testing.wait_all_tasks_blocked()
        assert end.closes == [1000]
        (record,) = stage.small.records
        assert (record.kind, record.route, record.workload_outcome) == (
            "realtime",
            "llm.primary",
            "success",
        )
        assert (record.request_bytes, record.response_bytes) == (11, 11)
        assert client.closed is None
