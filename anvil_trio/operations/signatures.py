"""What bytes are, by their own first words; what anybody says of them counts for nothing. Pure."""

from anvil_trio.operations.png import SIGNATURE

__all__ = ["MEDIA_TYPES", "media_type_of"]

MEDIA_TYPES = ("image/png", "video/mp4")
"""Everything that an artifact can be."""

_BOX = slice(4, 8)
_BRAND = slice(8, 12)
_LEAST_BOX = 16
_BRANDS = frozenset({
    b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V ", b"MSNV",
})  # fmt: skip


def media_type_of(data: bytes) -> str | None:
    """One of `MEDIA_TYPES`, or None."""
    if data.startswith(SIGNATURE) and data[12:16] == b"IHDR" and data.endswith(b"IEND\xaeB`\x82"):
        return "image/png"
    box = int.from_bytes(data[:4], "big")
    if data[_BOX] == b"ftyp" and data[_BRAND] in _BRANDS and _LEAST_BOX <= box <= len(data):
        return "video/mp4"
    return None
