"""Replies as real engines sent them, byte for byte."""

from pathlib import Path

__all__ = ["CAPTURES", "captured"]

_FOLDER = Path(__file__).parents[2] / "data" / "upstream"

CAPTURES = sorted(path.stem for path in _FOLDER.glob("*.http"))


def captured(name: str) -> bytes:
    """All bytes of one captured reply, framing included."""
    return (_FOLDER / f"{name}.http").read_bytes()
