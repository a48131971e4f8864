"""What is held is given back exactly once."""

import pytest
import trio

from anvil_trio.actors.held import Held
from anvil_trio.actors.messages import Release, Ticket
from anvil_trio.names import OwnerId

TICKET = Ticket(OwnerId(1), 1)


def test_leaving_the_block_gives_back_once():
    """R009: however often it is released, what was held is given back once."""
    told: list[Release] = []
    with Held(TICKET, told.append) as held:
        assert told == []
        held.release()
        held.release()
    held.release()
    assert told == [Release(TICKET)]


def test_an_error_in_the_block_gives_back():
    """An exception leaves through the block, and what was held is back."""
    told: list[Release] = []
    with pytest.raises(KeyError), Held(TICKET, told.append):
        raise KeyError
    assert told == [Release(TICKET)]


async def test_a_cancel_in_the_block_gives_back():
    """Giving back needs no checkpoint, so a cancelled scope cannot keep it from happening."""
    told: list[Release] = []
    with trio.CancelScope() as scope, Held(TICKET, told.append):
        scope.cancel()
        await trio.sleep_forever()
    assert told == [Release(TICKET)]


def test_what_was_given_back_cannot_be_entered():
    """Entering a block with something already given back is a bug."""
    held = Held(TICKET, lambda _: None)
    held.release()
    with pytest.raises(AssertionError, match="given back"), held:
        pass


def test_what_is_forgotten_is_given_back_with_a_warning():
    """A grant that is dropped without `with` is not lost, and does not go unnoticed."""
    told: list[Release] = []
    with pytest.warns(ResourceWarning, match="dropped"):
        Held(TICKET, told.append)
    assert told == [Release(TICKET)]


def test_two_grants_are_never_the_same():
    """What holds a place stands for itself, whatever another says of the same ticket."""
    one, other = (Held(TICKET, lambda _: None) for _ in range(2))
    with one, other:
        assert one != other
        assert {one: 1, other: 2}[other] == 2
