from anvil_trio.decisions.ring import RING_SIZE, Ring
from tests.unit.decisions.samples import GATEWAY_ID, record


def filled(count: int, size: int = 3) -> Ring:
    """A ring that `count` records went into, one after another."""
    ring = Ring(size)
    for number in range(count):
        ring.append(record(f"req_{number:032x}", f"call-{number}"))
    return ring


def test_the_oldest_record_gives_way():
    """The ring never holds more than its size, and what it loses is the oldest."""
    ring = filled(5)
    assert len(ring) == 3
    assert [kept.request_id for kept in ring] == ["call-4", "call-3", "call-2"]


def test_the_ring_holds_ten_thousand_records():
    """The size of the decision buffer is a documented number."""
    ring = filled(RING_SIZE + 1, RING_SIZE)
    assert len(ring) == RING_SIZE == 10_000


def test_the_newest_record_of_a_callers_id_is_found():
    """A caller may use an id twice; the newest request is meant."""
    ring = Ring()
    first, second = record("req_" + "1" * 32, "call"), record("req_" + "2" * 32, "call")
    ring.append(first)
    ring.append(second)
    assert ring.find("call") is second


def test_a_generated_id_finds_the_request_that_was_given_it():
    """The router's own ids are looked for among the router's own ids."""
    ring = Ring()
    ring.append(record(GATEWAY_ID, "call"))
    assert ring.find(GATEWAY_ID) is not None


def test_a_caller_cannot_pass_for_another_request():
    """A caller's id of the generated form is never found by it."""
    ring = Ring()
    ring.append(record(GATEWAY_ID, "req_" + "f" * 32))
    assert ring.find("req_" + "f" * 32) is None


def test_an_id_that_nobody_used_finds_nothing():
    """A missing request is None, not an error."""
    assert filled(2).find("call-9") is None
