"""URLs and headers of upstream requests."""

import pytest

from anvil_trio.config.model import TierDialect
from anvil_trio.upstream.build import (
    chat_url,
    count_tokens_url,
    realtime_headers,
    realtime_url,
    request_headers,
    root_url,
)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://127.0.0.1:8101", "http://127.0.0.1:8101/v1/chat/completions"),
        ("http://127.0.0.1:8101/", "http://127.0.0.1:8101/v1/chat/completions"),
        ("http://127.0.0.1:8101/v1", "http://127.0.0.1:8101/v1/chat/completions"),
        ("http://127.0.0.1:8101/v1//", "http://127.0.0.1:8101/v1/chat/completions"),
        ("https://engine.test/api", "https://engine.test/api/v1/chat/completions"),
        ("https://engine.test/a%20b/v1", "https://engine.test/a%20b/v1/chat/completions"),
        ("http://v1", "http://v1/v1/chat/completions"),
        ("http://[::1]:8101/rev1", "http://[::1]:8101/rev1/v1/chat/completions"),
        ("HTTP://127.0.0.1:8101", "http://127.0.0.1:8101/v1/chat/completions"),
    ],
)
def test_chat_goes_below_v1_which_is_added_only_where_it_is_missing(base_url, expected):
    """The chat URL is the base URL, `/v1` unless its path ends with it, and the endpoint."""
    assert chat_url(base_url) == expected
    counting = expected.replace("/chat/completions", "/messages/count_tokens")
    assert count_tokens_url(base_url) == counting


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:8101/v1", "http://127.0.0.1:8101/a/b?c#d"])
def test_probes_start_at_the_authority_root(base_url):
    """Health and identity ignore whatever path the base URL has."""
    assert root_url(base_url) == "http://127.0.0.1:8101"


@pytest.mark.parametrize("builder", [chat_url, count_tokens_url, root_url])
def test_the_empty_url_of_a_replica_tier_is_refused(builder):
    """R003: the empty `base_url` of a replica tier cannot become a URL."""
    with pytest.raises(AssertionError):
        builder("")


def test_an_openai_request_carries_exactly_the_allowed_headers():
    """Nothing but the allow list travels to an OpenAI-speaking engine."""
    headers = request_headers(TierDialect.OPENAI, "key", "req-1", accept_stream=False)
    assert dict(headers) == {
        b"content-type": b"application/json",
        b"accept": b"application/json",
        b"accept-encoding": b"identity",
        b"x-request-id": b"req-1",
        b"authorization": b"Bearer key",
    }


def test_a_stream_is_asked_for_as_an_event_stream():
    """The accept header says whether a stream is wanted."""
    headers = dict(request_headers(TierDialect.OPENAI, None, "req-1", accept_stream=True))
    assert headers[b"accept"] == b"text/event-stream"


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_no_credential_is_sent(key):
    """A tier whose variable is unset or empty is asked without authorization."""
    headers = dict(request_headers(TierDialect.OPENAI, key, "req-1", accept_stream=True))
    assert b"authorization" not in headers


def test_an_anthropic_engine_gets_its_own_key_header_and_version():
    """The Messages dialect shows its key as `x-api-key` and names the API's version."""
    headers = dict(request_headers(TierDialect.ANTHROPIC, "key", "req-1", accept_stream=True))
    assert headers[b"x-api-key"] == b"key"
    assert headers[b"anthropic-version"] == b"2023-06-01"
    assert b"authorization" not in headers


@pytest.mark.parametrize("base_url", ["http://a.test", "http://a.test/v1", "http://a.test/v1/"])
def test_messages_engines_have_their_own_path(base_url):
    """With `/v1` once, however the base URL spells it."""
    assert chat_url(base_url, TierDialect.ANTHROPIC) == "http://a.test/v1/messages"


def test_a_callers_version_and_betas_travel_to_messages_engines():
    """In place of our own version, and nothing else of what they say; never to other engines."""
    said = [(b"anthropic-version", b"2"), (b"anthropic-beta", b"b"), (b"cookie", b"c")]
    headers = dict(
        request_headers(TierDialect.ANTHROPIC, None, "req-1", accept_stream=True, said=said)
    )
    assert (headers[b"anthropic-version"], headers[b"anthropic-beta"]) == (b"2", b"b")
    assert b"cookie" not in headers
    headers = dict(request_headers(TierDialect.OPENAI, None, "r", accept_stream=True, said=said))
    assert not headers.keys() & {b"anthropic-version", b"anthropic-beta", b"cookie"}


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:8101", "https://engine.test/api/v1/"])
def test_a_session_is_opened_beside_chat(base_url):
    """The session's URL stands where the chat URL does, with the model in its query, escaped."""
    chat = chat_url(base_url)
    beside = chat.removesuffix("chat/completions")
    assert realtime_url(chat, "org/model a&b=c") == f"{beside}realtime?model=org%2Fmodel+a%26b%3Dc"
    assert (
        realtime_url(chat, "m", "transcription") == f"{beside}realtime?model=m&intent=transcription"
    )


def test_an_engine_that_speaks_messages_has_no_sessions():
    """The URL of another dialect's engine cannot become a session's."""
    with pytest.raises(AssertionError):
        realtime_url(chat_url("http://a", TierDialect.ANTHROPIC), "m")


def test_a_handshake_carries_exactly_the_allowed_headers():
    """Our id, the engine's key and the first version's word, each only where there is one."""
    assert realtime_headers(None, "req-1", is_beta=False) == [(b"x-request-id", b"req-1")]
    assert realtime_headers("key", "req-1", is_beta=True) == [
        (b"x-request-id", b"req-1"),
        (b"openai-beta", b"realtime=v1"),
        (b"authorization", b"Bearer key"),
    ]
