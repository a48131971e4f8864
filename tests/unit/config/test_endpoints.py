"""The normal form of endpoint URLs."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.endpoints import MAX_URL_CHARS, Endpoint, EndpointFault, parse_endpoint
from anvil_trio.config.urls import normalise_trace_url, router_fault

HOSTS = st.sampled_from([
    "a.test",
    "A.Test.",
    "127.0.0.1",
    "[::1]",
    "[0:0:0::FFFF:1.2.3.4]",
    "b\u00fccher.test",
    "x--y",
]) | st.text(alphabet="aZ09.-[]:%_@\u00fc\u3002\u00df\uff11x", max_size=12)
URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "HTTPS", "hTTp"]),
    HOSTS,
    st.sampled_from(["", ":", ":0", ":80", ":443", ":65535", ":65536", ":00080", ":\u0661"]),
    st.text(alphabet="/aB%.2f\u00e9\\", max_size=8).map(lambda path: f"/{path}" if path else ""),
)


def normal(text: str) -> Endpoint:
    """The normal form of a text that has one."""
    found = parse_endpoint(text)
    assert isinstance(found, Endpoint)
    return found


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTP://Engine.Test/V1/", "http://engine.test:80/V1"),
        ("https://engine.test.", "https://engine.test:443"),
        ("http://[2001:DB8:0::1]:8001/v1", "http://[2001:db8::1]:8001/v1"),
        ("http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]:80"),
        ("http://B\u00dcCHER.test//a//", "http://xn--bcher-kva.test:80//a"),
        ("http://127\u30020\u30020\u30021:08080", "http://127.0.0.1:8080"),
    ],
)
def test_the_normal_form_is_scheme_host_port_and_path(text: str, url: str) -> None:
    """Lower case, canonical addresses, IDNA, a port always, no slash at the end, the rest exact."""
    assert normal(text).url == url


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1.",
        "http://1",
        "http://.",
        "http://",
        "http://[]",
        "http://[127.0.0.1]",
        "http://[::1]x",
        "http://a]b",
        "http://\uff4cocalhost",
        "http://127.0.0.1\\@b",
    ],
)
def test_a_host_is_an_address_or_a_name_and_nothing_between(text: str) -> None:
    """What some resolver might read as an address is no name, and no other spelling is guessed."""
    assert parse_endpoint(text) in {EndpointFault.HOST, EndpointFault.USERINFO}


@given(URLS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    """The normal form of a normal form is itself."""
    found = parse_endpoint(text)
    if isinstance(found, Endpoint):
        assert parse_endpoint(found.url) == found


@given(URLS)
def test_httpx_connects_to_the_host_and_port_of_the_normal_form(text: str) -> None:
    """Whatever is accepted is a URL to httpx too, and it means the same place."""
    found = parse_endpoint(text)
    if isinstance(found, Endpoint):
        url = httpx.URL(text)
        theirs = normal(f"{url.scheme}://{url.netloc.decode('ascii')}")
        assert (theirs.host, theirs.port) == (found.host, found.port)


@given(st.text(max_size=40))
def test_any_text_is_an_endpoint_or_breaks_a_named_rule(text: str) -> None:
    """Nothing is raised, and a fault's words hold none of the text."""
    for candidate in (text, f"http://{text}", f"http://a.test:1/{text}"):
        found = parse_endpoint(candidate)
        assert isinstance(found, Endpoint | EndpointFault)


def test_a_long_url_is_refused_before_it_is_read() -> None:
    """A megabyte of dots costs one comparison."""
    assert parse_endpoint("http://" + "." * MAX_URL_CHARS) is EndpointFault.LENGTH


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/other/", "http://127.0.0.1:4318/other/"),
    ],
)
def test_traces_go_to_v1_traces_where_no_path_is_given(text: str, url: str) -> None:
    """An empty path gets the usual one; any other path is kept."""
    assert normalise_trace_url(text) == url


@pytest.mark.parametrize(
    ("text", "is_near"),
    [
        ("http://127.0.0.1:8000", True),
        ("https://127.9.9.9/", True),
        ("http://[::1]:8000", True),
        ("http://10.1.2.3:8000", True),
        ("http://100.64.0.1:1", True),
        ("http://[fd00::1]:1", True),
        ("http://localhost:8000", False),
        ("http://8.8.8.8:8000", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://user@127.0.0.1:8000", False),
        ("ftp://127.0.0.1", False),
        ("", False),
    ],
)
def test_a_command_is_sent_to_a_literal_address_near_by(text: str, is_near: bool) -> None:
    """No name, which another could answer for; no public address; no path."""
    assert (router_fault(text) is None) is is_near
