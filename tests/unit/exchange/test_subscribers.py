"""The seats of the live feed."""

import pytest
import trio

from anvil_trio.decisions.events import IntentChanged
from anvil_trio.exchange.subscribers import Subscribers
from anvil_trio.names import TierId


async def test_a_seat_is_held_for_a_block_however_it_is_left():
    """It is given back by an exception and by a cancel too."""
    seats = Subscribers(1)
    with seats.seated(trio.CancelScope()) as is_seated:
        assert (is_seated, len(seats)) == (True, 1)
    assert len(seats) == 0
    with pytest.raises(ZeroDivisionError), seats.seated(trio.CancelScope()):
        raise ZeroDivisionError
    assert len(seats) == 0
    with trio.CancelScope() as scope, seats.seated(trio.CancelScope()):
        scope.cancel()
        await trio.lowlevel.checkpoint()
    assert len(seats) == 0


async def test_there_are_no_more_than_so_many():
    """Whoever is not seated has nothing to give back."""
    seats = Subscribers(1)
    with seats.seated(trio.CancelScope()):
        for _ in range(2):
            with seats.seated(trio.CancelScope()) as is_seated:
                assert (is_seated, len(seats)) == (False, 1)
        assert len(seats) == 1


async def test_all_of_them_are_told_to_go():
    """Their scopes are cancelled, and nobody is let in any more."""
    seats, scopes = Subscribers(3), [trio.CancelScope(), trio.CancelScope()]
    with seats.seated(scopes[0]), seats.seated(scopes[1]):
        seats.end()
        assert [scope.cancel_called for scope in scopes] == [True, True]
        seats.end()
    with seats.seated(trio.CancelScope()) as is_seated:
        assert not is_seated


def test_a_message_is_made_once_for_all_who_read_it_in_its_turn():
    """The same event is the same text, not made again; another event has its own."""
    seats = Subscribers()
    first, second = (IntentChanged(TierId(name), None, is_quiesced=True) for name in ("a", "b"))
    text = seats.text_of(first)
    assert seats.text_of(first) is text
    assert '"tier_id":"b"' in seats.text_of(second)
    assert seats.text_of(first) == text
