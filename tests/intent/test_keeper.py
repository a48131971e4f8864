"""What is intended now, and that it is saved before it is true."""

import trio

from anvil_trio.intent.intents import Intents
from anvil_trio.intent.keeper import IntentKeeper
from anvil_trio.names import TierId

ONE = TierId("one")
CLOSED = Intents().quiesced(ONE, None, "upgrade")


async def test_without_a_file_intents_are_kept_in_memory():
    """They end with the process."""
    keeper = IntentKeeper(Intents())
    assert await keeper.keep(CLOSED)
    assert keeper.current == CLOSED


async def test_what_cannot_be_saved_is_not_current():
    """Nothing has changed then."""

    async def fail(_: Intents) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    keeper = IntentKeeper(Intents(), fail)
    assert not await keeper.keep(CLOSED)
    assert keeper.current == Intents()


async def test_what_is_current_already_is_not_saved_again():
    """A repeated order costs no write."""

    async def never(_: Intents) -> bool:
        raise AssertionError("saved")

    keeper = IntentKeeper(CLOSED, never)
    assert await keeper.keep(Intents().quiesced(ONE, None, "upgrade"))
