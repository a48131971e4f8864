"""The newest decision records, in memory."""

import re
from collections import deque
from collections.abc import Callable, Iterator

from anvil_trio.decisions.record import DecisionRecord

__all__ = ["RING_SIZE", "Ring", "by_id"]

RING_SIZE = 10_000

_GENERATED_ID = re.compile(r"req_[0-9a-f]{32}")


class Ring:
    """Holds at most `size` records; the oldest gives way to the newest.

    Iteration goes from the newest to the oldest; nothing may be appended meanwhile, which holds
    wherever a loop does not await.
    """

    def __init__(self, size: int = RING_SIZE) -> None:
        self._records: deque[DecisionRecord] = deque(maxlen=size)

    @property
    def capacity(self) -> int:
        """How many records are kept at most."""
        size = self._records.maxlen
        assert size is not None, "a ring has a size"
        return size

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[DecisionRecord]:
        return reversed(self._records)

    def append(self, record: DecisionRecord) -> None:
        """Keep a record; the oldest is forgotten once the ring is full."""
        self._records.append(record)

    def find(self, request_id: str) -> DecisionRecord | None:
        """The newest record of that id, or None.

        An id of the form that the router generates is looked for among the router's own ids
        only, so that no caller can pass for another request; any other among the callers' ids.
        """
        is_wanted = by_id(request_id)
        return next((kept for kept in self if is_wanted(kept)), None)


def by_id(request_id: str) -> Callable[[DecisionRecord], bool]:
    """Whether a record is the one of that id; see `Ring.find`."""
    if _GENERATED_ID.fullmatch(request_id) is not None:
        return lambda record: record.gateway_request_id == request_id
    return lambda record: record.request_id == request_id
