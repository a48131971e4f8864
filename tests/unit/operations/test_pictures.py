"""Pictures of our own, and what bytes are by their first words."""

import struct
import zlib

import pytest

from anvil_trio.operations.picture import draw, size_of
from anvil_trio.operations.png import SIGNATURE, encode_png
from anvil_trio.operations.signatures import media_type_of

MP4 = b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2" + b"\0" * 8


def chunks(data: bytes) -> dict[bytes, bytes]:
    """The chunks of a PNG file, each with a sum that is right."""
    assert data.startswith(SIGNATURE)
    found, at = dict[bytes, bytes](), len(SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (total,) = struct.unpack_from(">I", data, at + 8 + length)
        assert total == zlib.crc32(kind + body)
        found[kind] = body
        at += 12 + length
    return found


def pixels_of(data: bytes) -> tuple[int, int, bytes]:
    """Width, height and pixels, by the format's own rules for the filters 0 and 2."""
    parts = chunks(data)
    width, height, *kinds = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert kinds == [8, 2, 0, 0, 0]
    raw, stride = zlib.decompress(parts[b"IDAT"]), 3 * width
    above, rows = bytes(stride), bytearray()
    for at in range(0, len(raw), stride + 1):
        row = raw[at + 1 : at + 1 + stride]
        if raw[at] == 2:
            row = bytes((new + old) & 0xFF for new, old in zip(row, above, strict=True))
        rows += row
        above = row
    return width, height, bytes(rows)


def test_a_picture_is_read_back_as_it_was_written() -> None:
    """Width, height and every pixel."""
    pixels = bytes(range(2 * 3 * 3))
    assert pixels_of(encode_png(2, 3, pixels)) == (2, 3, pixels)
    assert list(chunks(encode_png(1, 1, b"abc"))) == [b"IHDR", b"IDAT", b"IEND"]


def test_pixels_that_are_no_whole_rows_are_a_bug() -> None:
    """No file is made of them."""
    with pytest.raises(AssertionError):
        encode_png(2, 2, b"abc")
    with pytest.raises(AssertionError):
        encode_png(0, 2, b"")


def test_the_same_words_draw_the_same_picture() -> None:
    """In whatever order they come; another word, name or artifact draws another."""
    first = draw("w 1", {"prompt": "a", "steps": 2}, {"picture": b"x"})
    assert draw("w 1", {"steps": 2, "prompt": "a"}, {"picture": b"x"}) == first
    assert draw("w 1", {"steps": 3, "prompt": "a"}, {"picture": b"x"}) != first
    assert draw("w 2", {"steps": 2, "prompt": "a"}, {"picture": b"x"}) != first
    assert draw("w 1", {"steps": 2, "prompt": "a"}, {"picture": b"y"}) != first


def test_a_picture_has_the_size_that_was_asked_for() -> None:
    """Within what is cheap to draw; without a word it has one of its own."""
    assert size_of({}) == (128, 128)
    assert size_of({"width": 64, "height": 5000}) == (64, 512)
    assert size_of({"width": True, "height": 0}) == (128, 16)
    width, height, pixels = pixels_of(draw("w", {"width": 40, "height": 20}, {}))
    assert (width, height) == (40, 20)
    assert len({pixels[at : at + 3] for at in range(0, len(pixels), 3)}) > 1


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (encode_png(1, 1, b"abc"), "image/png"),
        (MP4, "video/mp4"),
        (b"", None),
        (SIGNATURE, None),
        (encode_png(1, 1, b"abc")[:-1], None),
        (b"\xff\xd8\xff\xe0 JFIF", None),
        (b"<html>", None),
        (MP4.replace(b"isom", b"evil"), None),
        (MP4.replace(b"\x18ftyp", b"\x04ftyp"), None),
        (b"\0\0\xff\xffftypisom", None),
    ],
)
def test_bytes_are_what_their_first_words_say(data: bytes, found: str | None) -> None:
    """A whole PNG, an MP4 whose first box is whole, or nothing that is kept."""
    assert media_type_of(data) == found
