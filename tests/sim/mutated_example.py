"""A module with something in it to change, for the tests of the harness."""

__all__ = ["answer"]


def answer() -> int:
    """One."""
    return 1
