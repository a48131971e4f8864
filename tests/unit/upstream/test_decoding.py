"""Coded bodies become plain bytes, bounded."""

import gzip
import zlib

import httpx
import pytest

from anvil_trio.upstream.decoding import MAX_PIECE_BYTES, BodyDecoder, decoder_for
from anvil_trio.upstream.stream import Head

PLAIN = b"caf\xc3\xa9 " * 100


def raw_deflate(data: bytes) -> bytes:
    """Deflate without zlib's frame, as some old servers send it."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODED = {
    "gzip": (b"gzip", gzip.compress(PLAIN)),
    "x-gzip": (b"x-gzip", gzip.compress(PLAIN)),
    "zlib": (b"deflate", zlib.compress(PLAIN)),
    "raw": (b"deflate", raw_deflate(PLAIN)),
}


def decoded(coding: bytes, *reads: bytes) -> bytes:
    """The whole body that these reads stand for."""
    decoder = BodyDecoder(coding)
    out = b""
    for read in reads:
        decoder.feed(read)
        while piece := decoder.take():
            assert len(piece) <= MAX_PIECE_BYTES
            out += piece
    decoder.finish()
    return out


@pytest.mark.parametrize("name", CODED)
def test_any_split_of_a_coded_body_decodes_to_the_same_bytes(name):
    """Where a read happens to end does not change what a coded body says."""
    coding, coded = CODED[name]
    assert decoded(coding, coded) == PLAIN
    for at in range(1, len(coded)):
        assert decoded(coding, coded[:at], coded[at:]) == PLAIN


@pytest.mark.parametrize("name", ["gzip", "zlib", "raw"])
def test_a_bomb_is_given_out_in_bounded_pieces(name):
    """A few KiB that stand for many MiB never become one piece."""
    bomb = b"\0" * (10 * MAX_PIECE_BYTES + 1)
    coding, packed = {
        "gzip": (b"gzip", gzip.compress(bomb)),
        "zlib": (b"deflate", zlib.compress(bomb)),
        "raw": (b"deflate", raw_deflate(bomb)),
    }[name]
    assert len(packed) < MAX_PIECE_BYTES // 8
    assert decoded(coding, packed) == bomb


def test_an_empty_body_is_whole_whatever_its_coding():
    """A reply without a body needs no coded end."""
    assert not decoded(b"gzip")
    assert not decoded(b"deflate")
    assert not decoded(b"br")


@pytest.mark.parametrize(
    ("coding", "reads"),
    [
        (b"gzip", [b"not gzip at all"]),
        (b"gzip", [gzip.compress(PLAIN)[:-3]]),
        (b"gzip", [gzip.compress(PLAIN), b"more"]),
        (b"gzip", [gzip.compress(PLAIN) + b"more"]),
        (b"deflate", [b"x"]),
        (b"deflate", [b"\xff\xff\xff\xff"]),
        (b"br", [b"\x8b"]),
        (b"gzip, gzip", [gzip.compress(gzip.compress(PLAIN))]),
    ],
)
def test_a_body_that_is_not_what_its_header_says_is_an_error(coding, reads):
    """Unknown codings and cut, wrong or followed bodies raise a decoding error."""
    with pytest.raises(httpx.DecodingError):
        decoded(coding, *reads)


@pytest.mark.parametrize("coding", [None, b"identity", b"", b" Identity "])
def test_a_plain_body_needs_no_decoder(coding):
    """A head that names no coding passes untouched."""
    headers = () if coding is None else ((b"content-encoding", coding),)
    head = Head(200, headers)
    assert decoder_for(head) == (head, None)


def test_the_head_of_a_decoded_body_says_nothing_of_its_coding():
    """Coding and coded length are dropped from the head, everything else stays."""
    headers = (
        (b"content-encoding", b"GZIP"),
        (b"content-length", b"5"),
        (b"content-type", b"text/event-stream"),
    )
    head, decoder = decoder_for(Head(200, headers))
    assert head == Head(200, ((b"content-type", b"text/event-stream"),))
    assert decoder is not None
