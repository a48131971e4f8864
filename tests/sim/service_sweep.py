"""One request to a service, ended at every scheduler step in turn: nothing is held afterwards."""

from collections.abc import Callable
from random import Random

import trio
from structlog.testing import capture_logs

from tests.purpose.bodies import GOOD, PATHS
from tests.purpose.stage import open_stage, service_config
from tests.support.fake_caller import FakeCaller
from tests.support.sim import CancelAt

__all__ = ["KINDS", "scenario"]

KINDS = tuple(PATHS)


class _Leaving:
    """Makes the n-th step the one in which the caller leaves, instead of a cancel."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.cancel = leave


async def scenario(_rng: Random, cancel_at: CancelAt, *, kind: str, is_leaving: bool) -> None:
    """The request of that kind, cut at one step, beside one that is left alone."""
    with capture_logs():
        async with open_stage(service_config(audio_max_concurrency=2)) as stage:
            stage.engine(kind).chat_default = GOOD[kind]
            beside, swept = FakeCaller(), FakeCaller()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stage.serve, kind, beside)
                with trio.CancelScope() as scope:
                    cancel_at.arm(_Leaving(swept.leave) if is_leaving else scope)  # type: ignore[arg-type]
                    await stage.serve(kind, swept)
                cancel_at.disarm()
            await stage.small.assert_at_rest()
            assert beside.status == 200
            assert beside.has_ended
            assert all(len(record.attempts) <= 1 for record in stage.small.records)
            assert len(stage.small.records) == 2, "one record per request"
            assert stage.engine(kind).attempts <= 2
            assert (await stage.ask(kind)).status == 200, "the house goes on"
