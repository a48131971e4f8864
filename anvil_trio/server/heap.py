"""How readily the C library gives memory back to the kernel (docs/performance.md)."""

__all__ = ["keep_freed_memory"]

_LARGE = 4 * 2**20


def keep_freed_memory() -> None:
    """From here on some 8 MiB that were freed are kept for whoever asks next.

    glibc gives back what is free at the end of its heap as soon as that is 128 KiB: with bodies of
    100 KB at every request, and each byte that is written next costs a fault of a fresh page. It
    learns from the largest block that it saw mapped and freed, up to 32 MiB: from then on it keeps
    twice as much. Elsewhere this does nothing.
    """
    bytearray(_LARGE)
