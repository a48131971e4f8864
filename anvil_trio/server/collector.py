"""How often Python looks for garbage in cycles, chosen by measurement (docs/performance.md)."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["steady_collector"]

_THRESHOLDS = (10_000, 10, 10)
"""Python's own are 700, 10, 10 up to 3.11: a collection about every other request."""


@contextmanager
def steady_collector() -> Iterator[None]:
    """Within the block what exists now is never looked at again, and the rest less often.

    What the start has made (modules, configuration, the application) lives as long as the process.
    A collection of the young looks at 10,000 objects at the most and takes well under a
    millisecond. For the process's owner only; afterwards all is as it was.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
