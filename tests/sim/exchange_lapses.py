"""A lapse that fires at any scheduler step, in which nothing may be due: no piece may be lost."""

from random import Random

from structlog.testing import capture_logs

from tests.sim.draws import SERVER
from tests.support.chunks import DONE, END, ROLE, SSE, STOP, Head, seen_text, text, unary_body
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import Fault, Reply, Step
from tests.support.sim import CancelAt
from tests.support.small_house import (
    SmallHouse,
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
)

__all__ = ["KINDS", "scenario"]

BODY = unary_body("0123456789")
UNARY = Reply((1.0, Head(200), BODY[:9], 1.0, BODY[9:10], 0.0, BODY[10:], END))
PIECES: tuple[Step, ...] = (
    1.0,
    Head(200, SSE),
    ROLE,
    *map(text, "01234"),
    16.0,
    *map(text, "56789"),
    STOP,
)
REPLIES = {
    "unary": UNARY,
    "stream": Reply((*PIECES, DONE, END)),
    "stream that comes whole": UNARY,
    "broken after its finish reason": Reply((*PIECES, Fault.RESET)),
}
KINDS = (*REPLIES, "told")


class _Lapse:
    """Ends the lapse that is open, as its deadline would."""

    def __init__(self, small: SmallHouse) -> None:
        self._small = small

    def cancel(self) -> None:
        for watch in self._small.house.exchanges._running:
            if watch._lapse is not None:
                watch._lapse.cancel()


async def scenario(rng: Random, cancel_at: CancelAt, *, kind: str) -> None:
    """One whole exchange, its lapse cut at one step."""
    with capture_logs():
        async with open_small_house(config_of(direct_tier(), server=SERVER)) as small:
            small.engine().is_told = kind == "told"
            small.engine().chat = [REPLIES["stream" if kind == "told" else kind]]
            caller = FakeCaller(chat_body(stream=kind != "unary"))
            cancel_at.arm(_Lapse(small))  # type: ignore[arg-type]
            await small.serve(caller)
            cancel_at.disarm()
            if kind == "unary":
                assert b"0123456789" in caller.received, "body bytes were lost"
            else:
                assert seen_text(caller.received) == "0123456789", "an event was lost"
                assert caller.received.endswith(DONE)
            await small.assert_at_rest()
