"""The grammars of names: matched in full, or not at all."""

import pytest

from anvil_trio import names

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize("text", ["a", "Member-a_2", "x" * 64])
def test_an_identifier_is_taken(text):
    """R003: a letter, then letters, digits, `-` and `_`, at most 64 in all."""
    assert names.is_identifier(text)


@pytest.mark.parametrize("text", ["", "2a", "-a", "a.b", "a b", "a\n", "é", "x" * 65])
def test_no_other_identifier_is_taken(text):
    """R003: nothing else names a member, host or resource, not even with a trailing newline."""
    assert not names.is_identifier(text)


@pytest.mark.parametrize("text", ["eval:2026-11", "1", "A.b_c:d-e", "x" * 128])
def test_a_qualification_reference_is_any_safe_label(text):
    """R006: the reference is an opaque label; what it refers to is nobody's business here."""
    assert names.is_qualification_ref(text)


@pytest.mark.parametrize("text", ["", ":a", "/etc/x", "http://x", "a b", "a\n", "x" * 129])
def test_a_qualification_reference_is_no_path_and_no_url(text):
    """R006: what could be a path, a URL or a line of its own is not safe to show."""
    assert not names.is_qualification_ref(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("1.0+cu12", True), ("v", True), ("", False), ("a:b", False), ("x" * 129, False)],
)
def test_a_version_label_is_short_and_plain(text, is_one):
    """R005: revisions and engine versions are 1 to 128 characters without `:` or `/`."""
    assert names.is_version_label(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [(DIGEST, True), (DIGEST.upper(), False), (DIGEST + "0", False), (DIGEST[7:], False)],
)
def test_a_digest_is_sha256_in_lower_case(text, is_one):
    """R005: a digest is `sha256:` and 64 lower-case hex digits."""
    assert names.is_digest(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("ENGINE_KEY", True),
        ("A1", True),
        ("engine", False),
        ("_A", False),
        ("A-B", False),
        ("AKIA" + "A" * 16, False),
        ("ASIA" + "0" * 16, False),
        ("AKIA" + "A" * 15, True),
    ],
)
def test_an_environment_name_is_no_key(text, is_one):
    """A secret is named, never given: what looks like a cloud key itself is refused."""
    assert names.is_env_name(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("req-1.a:b_c", True), ("1", True), ("", False), ("-a", False), ("a b", False)],
)
def test_a_correlation_token_is_safe_to_show(text, is_one):
    """A caller's id is kept only if it can stand in a header, a log line and a page."""
    assert names.is_correlation_token(text) is is_one


def test_an_alias_is_trimmed_and_lower():
    """R001: blanks round a model name and its case do not matter."""
    assert names.normalise_alias("  LLM.Primary\t") == "llm.primary"
