"""Content types come from a closed list, whatever an engine says."""

import pytest

from anvil_trio.purpose.media_types import media_type, shown_type


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (b"application/json; secret=1", "application/json", b"application/json"),
        (b" Text/Plain ", "text/plain", b"text/plain; charset=utf-8"),
        (b"text/event-stream", "text/event-stream", b"text/event-stream; charset=utf-8"),
        (b"audio/mpeg", "audio/mpeg", b"audio/mpeg"),
        (b"audio/L16; rate=24000; channels=1", "audio/l16", b"audio/l16;rate=24000;channels=1"),
        (b"audio/l16;rate=secret;x=2", "audio/l16", b"audio/l16"),
        (b"audio/l16;rate=12345678", "audio/l16", b"audio/l16"),
        (b"audio/secret;rate=1", "application/octet-stream", b"application/octet-stream"),
        (b"application/octet-stream", "application/octet-stream", b"application/octet-stream"),
        (b"text/html", "", b""),
        (b"\xff", "", b""),
        (None, "", b""),
    ],
)
def test_a_type_is_told_in_our_own_spelling(said, kind, told):
    """Parameters are left out but for the numbers of audio; audio nobody knows is bytes."""
    assert media_type(said) == kind
    assert shown_type(said) == told
