"""The picture that the embedded backend draws: overlapping discs, all of it from one seed. Pure."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from anvil_trio.operations.model import Scalar
from anvil_trio.operations.png import encode_png

__all__ = ["draw", "size_of"]

_DISCS = 6
_DEFAULT, _LEAST, _MOST = 128, 16, 512


@dataclass(frozen=True, slots=True)
class _Disc:
    x: int
    y: int
    square: int  # of its radius
    colour: bytes

    def row(self, y: int, width: int) -> tuple[int, int] | None:
        """From where to where it covers the row, or None."""
        rest = self.square - (y - self.y) ** 2
        if rest < 0:
            return None
        half = int(rest**0.5)
        return max(0, self.x - half), min(width, self.x + half + 1)


def size_of(values: Mapping[str, Scalar]) -> tuple[int, int]:
    """Width and height as asked for, each within what is cheap to draw."""
    return _side(values.get("width")), _side(values.get("height"))


def draw(name: str, values: Mapping[str, Scalar], given: Mapping[str, bytes]) -> bytes:
    """A PNG of what was asked for: other words, other picture; the same words, the same bytes.

    `given` are the bytes of the artifacts to work on, which take part in the seed.
    """
    said = msgspec.json.encode([name, values], order="sorted")
    parts = (said, *(hashlib.sha256(given[key]).digest() for key in sorted(given)))
    seed = hashlib.sha512(b"".join(parts)).digest()
    width, height = size_of(values)
    discs = list(_discs(seed, width, height))
    ground = seed[-3:]
    return encode_png(width, height, b"".join(_row(y, width, ground, discs) for y in range(height)))


def _side(value: Scalar | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return _DEFAULT
    return min(max(value, _LEAST), _MOST)


def _discs(seed: bytes, width: int, height: int) -> Iterator[_Disc]:
    for at in range(0, _DISCS * 8, 8):
        part = seed[at : at + 8]
        radius = 4 + part[2] * min(width, height) // 768
        yield _Disc(part[0] * width // 255, part[1] * height // 255, radius**2, part[3:6])


def _row(y: int, width: int, ground: bytes, discs: list[_Disc]) -> bytes:
    row = bytearray(ground * width)
    for disc in discs:
        covered = disc.row(y, width)
        if covered is not None:
            start, end = covered
            row[3 * start : 3 * end] = disc.colour * (end - start)
    return bytes(row)
