"""Bodies that came coded although plain bytes were asked for: decoded piece by piece, bounded.

A few KiB of gzip can stand for gigabytes. A decoder gives out at most `MAX_PIECE_BYTES` at a time
and keeps the rest coded, so memory stays bounded and whoever reads slowly slows the upstream.
"""

import zlib

import httpx

from anvil_trio.upstream.stream import Head

__all__ = ["MAX_PIECE_BYTES", "BodyDecoder", "decoder_for"]

MAX_PIECE_BYTES = 262_144

_GZIP = 16 + zlib.MAX_WBITS
_ZLIB = zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_DEFLATE = 8  # the method in the first byte of RFC 1950's frame
_NO_CODING = frozenset({b"", b"identity"})
_KNOWN = frozenset({b"gzip", b"x-gzip", b"deflate"})
_SPOILT = frozenset({b"content-encoding", b"content-length"})
_UNDECODABLE = "The reply's coding cannot be decoded."


class BodyDecoder:
    """One coded body. `feed` what came, then `take` pieces until it gives b"".

    All of it raises httpx.DecodingError for bytes that are not what the header promised. A coding
    that is not known fails with the first byte: a status without its body is still worth having.
    """

    def __init__(self, coding: bytes) -> None:
        self._coding = coding
        self._zlib = None if coding == b"deflate" else zlib.decompressobj(_GZIP)
        self._coded = b""
        self._is_full = False  # the last piece met the bound: more may be waiting inside zlib
        self._is_empty = True

    @property
    def may_have_more(self) -> bool:
        """Whether `take` may give another piece of what was fed already."""
        return self._is_full or bool(self._coded)

    def feed(self, data: bytes) -> None:
        """Take the bytes of one read."""
        if self._coding not in _KNOWN:
            raise httpx.DecodingError(_UNDECODABLE)
        self._coded += data
        self._is_empty = False

    def take(self) -> bytes:
        """The next piece of at most `MAX_PIECE_BYTES`, or b"" while more must be fed."""
        if self._zlib is None:
            if len(self._coded) < 2:  # noqa: PLR2004 - zlib's own header, by which it is known
                return b""
            self._zlib = zlib.decompressobj(_ZLIB if _has_zlib_header(self._coded) else _RAW)
        while self._coded or self._is_full:
            if piece := self._piece(self._zlib):
                return piece
        return b""

    def finish(self) -> None:
        """The body has ended; it must have been whole, or empty."""
        if not (self._is_empty or (self._zlib is not None and self._zlib.eof)):
            raise httpx.DecodingError(_UNDECODABLE)

    def _piece(self, inflater: "zlib._Decompress") -> bytes:
        if inflater.eof:  # one body, but nothing may follow its end
            raise httpx.DecodingError(_UNDECODABLE)
        try:
            piece = inflater.decompress(self._coded, MAX_PIECE_BYTES)
        except zlib.error:
            raise httpx.DecodingError(_UNDECODABLE) from None
        self._coded = inflater.unconsumed_tail or inflater.unused_data
        self._is_full = len(piece) == MAX_PIECE_BYTES and not inflater.eof
        return piece


def _has_zlib_header(coded: bytes) -> bool:
    """Whether a deflate body has zlib's frame, which old servers leave out."""
    return coded[0] & 0x0F == _DEFLATE and int.from_bytes(coded[:2]) % 31 == 0


def decoder_for(head: Head) -> tuple[Head, BodyDecoder | None]:
    """The head as it is once the body is plain, and the decoder of the body if it is coded."""
    said = head.header(b"content-encoding")
    if said is None:
        return head, None
    coding = said.strip().lower()
    if coding in _NO_CODING:
        return head, None
    kept = tuple(header for header in head.headers if header[0] not in _SPOILT)
    return Head(head.status, kept), BodyDecoder(coding)
