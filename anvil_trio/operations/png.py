"""PNG files of our own: 8-bit RGB, one IDAT, no library. Pure."""

import struct
import zlib

__all__ = ["SIGNATURE", "encode_png"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB, _BITS = 2, 8


def encode_png(width: int, height: int, pixels: bytes) -> bytes:
    """The file of a picture given as rows of red, green, blue; the same pixels, the same bytes."""
    stride = 3 * width
    assert stride, "a row has pixels"
    assert len(pixels) == stride * height, "whole rows of pixels"
    # Each row names its filter; "up" turns what repeats downwards into zeros.
    rows = bytearray(b"\0" + pixels[:stride])
    for at in range(stride, len(pixels), stride):
        above, row = pixels[at - stride : at], pixels[at : at + stride]
        rows += b"\2" + bytes((new - old) & 0xFF for new, old in zip(row, above, strict=True))
    head = struct.pack(">IIBBBBB", width, height, _BITS, _RGB, 0, 0, 0)
    return b"".join((
        SIGNATURE,
        _chunk(b"IHDR", head),
        _chunk(b"IDAT", zlib.compress(bytes(rows), 6)),
        _chunk(b"IEND", b""),
    ))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
