"""What is left for the garbage collector."""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Garbage", "counted_garbage"]


class Garbage(Counter[str]):
    """How many objects of each type a block left in cycles."""


@contextmanager
def counted_garbage() -> Iterator[Garbage]:
    """Collect nothing while the block runs, and count at its end what only a collector can free."""
    garbage = Garbage()
    gc.collect()
    gc.disable()
    try:
        yield garbage
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        garbage.update(type(each).__qualname__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
