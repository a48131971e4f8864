"""Whose pages may open a WebSocket."""

import pytest

from anvil_trio.web.cors import Cors

LISTED = Cors(["https://panel.test", "http://localhost:3000"])


@pytest.mark.parametrize(
    ("origin", "host", "is_admitted"),
    [
        (None, b"127.0.0.1:8000", True),
        (b"https://panel.test", b"10.0.0.1", True),
        (b"HTTPS://Panel.test:443", b"10.0.0.1", True),
        (b"http://localhost:3000", b"10.0.0.1", True),
        (b"http://panel.test", b"10.0.0.1", False),
        (b"http://127.0.0.1:8000", b"127.0.0.1:8000", True),
        (b"http://127.0.0.1", b"127.0.0.1:80", True),
        (b"https://[::1]:8443", b"[::1]:8443", True),
        (b"http://127.0.0.1:8001", b"127.0.0.1:8000", False),
        (b"http://rebound.test:8000", b"rebound.test:8000", False),
        (b"http://localhost:8000", b"localhost:8000", False),
        (b"http://1.1:8000", b"1.1:8000", False),
        (b"http://", b"", False),
        (b"null", b"127.0.0.1:8000", False),
        (b"", b"127.0.0.1:8000", False),
    ],
)
def test_a_socket_is_for_no_page_a_listed_one_or_our_own(origin, host, is_admitted):
    """Our own is one of a literal address: a name may point anywhere tomorrow."""
    headers = [(b"host", host)]
    if origin is not None:
        headers.append((b"origin", origin))
    assert LISTED.admits(headers) is is_admitted


def test_without_a_list_foreign_pages_are_foreign():
    """And without a Host nothing is our own."""
    assert not Cors(()).admits([(b"origin", b"https://panel.test")])
