"""Bytes to a TOML tree."""

import hashlib

import pytest

from anvil_trio.config.document import (
    MAX_CONFIG_BYTES,
    MAX_DOTS,
    MAX_KEY_PARTS,
    parse_document,
)
from anvil_trio.config.problems import ConfigError, ProblemCode


def refusal(data: bytes) -> tuple[ProblemCode, str]:
    """What is wrong with the file as a whole."""
    with pytest.raises(ConfigError) as caught:
        parse_document(data)
    (problem,) = caught.value.problems
    assert not problem.path
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return problem.code, str(caught.value)


def padded(size: int) -> bytes:
    """A valid document of that many bytes."""
    return b"# " + b"x" * (size - 2)


def test_the_exact_bytes_and_their_digest_are_kept() -> None:
    """R004: source and sha256 are of the bytes as they came, line ends included."""
    data = b"a = 1\r\n"
    document = parse_document(data)
    assert document.source is data
    assert document.sha256 == hashlib.sha256(data).hexdigest()
    assert document.tree == {"a": 1}


def test_a_document_never_shows_what_it_holds() -> None:
    """The bytes and the tree are left out of the repr."""
    assert "canary" not in repr(parse_document(b'a = "canary"'))


def test_a_file_of_exactly_1_mib_is_taken() -> None:
    """R004: the bound itself is allowed."""
    assert parse_document(padded(MAX_CONFIG_BYTES)).tree == {}


def test_one_byte_above_1_mib_is_refused_before_it_is_decoded() -> None:
    """R004: the size comes first, so that the rest may be anything."""
    expected = (ProblemCode.TOO_LARGE, "the file is above 1048576 bytes")
    assert refusal(padded(MAX_CONFIG_BYTES + 1)) == expected
    assert refusal(b"\xff" * (MAX_CONFIG_BYTES + 1)) == expected


@pytest.mark.parametrize("data", [b"\xff", b"a = '\xed\xa0\x80'", "a = 1".encode("utf-16")])
def test_what_is_not_utf8_is_refused(data: bytes) -> None:
    """Neither stray bytes, nor encoded surrogates, nor another encoding."""
    code, message = refusal(data)
    assert (code, message) == (ProblemCode.NOT_UTF8, "the file is not UTF-8")


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"a = = 1", " at line 1, column 5"),
        (b"a = 1\n\na", " at end of document"),
        (b"a = {b = 1, b = 2}", " at line 1, column 18"),
        (b"a = " + b"9" * 5000, ""),
    ],
)
def test_a_syntax_fault_is_told_by_its_place_alone(data: bytes, where: str) -> None:
    """The words of the TOML reader, which may quote the file, are dropped."""
    assert refusal(data) == (ProblemCode.NOT_TOML, f"the file is not valid TOML{where}")


def test_a_file_nested_beyond_the_reader_is_refused() -> None:
    """Depth is a problem of the file, not a crash."""
    assert refusal(b"a = " + b"[" * 100_000) == (
        ProblemCode.NOT_TOML,
        "the file is nested too deeply",
    )


LONG = ".".join("a" * (MAX_KEY_PARTS + 1))
TOO_DEEP = (ProblemCode.NOT_TOML, "the file is nested too deeply")


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} = 1",
        f"[{LONG}]",
        f"[[{LONG}]]",
        f"b = {{ {LONG} = 1 }}",
        LONG.replace("a", '"a"') + " = 1",
        LONG.replace("a", "'.'") + " = 1",
        LONG.replace(".", " .\t") + " = 1",
        f"b = '''\n'# '''\n{LONG} = 1",
        f'b = """\\"""#"""\n{LONG} = 1',
        f"{'b' * 900_000} = 1\n" + ".".join("a" * 40_000) + " = 1",
        "b.c = 1\n" * (MAX_DOTS + 1),
    ],
    ids=range(11),
)
def test_a_key_of_very_many_names_is_refused_unread(text: str) -> None:
    """T006: each name costs the parser all those before it, so 100,000 would take minutes."""
    assert refusal(text.encode()) == TOO_DEEP


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG.removesuffix('.a')} = 1",
        f"b = '{LONG}'",
        f'b = "{LONG}"',
        f'b = "\\"{LONG}"',
        f"b = '''\n{LONG}'\n'''",
        f'b = """\n{LONG}"\n"""',
        f"# {LONG}\nb = 1",
        f"b = [{', '.join(['1.5'] * 1000)}]",
        f"# {'.' * (MAX_DOTS + 1)}",
        "-" * 500_000 + " = 1",
    ],
    ids=range(10),
)
def test_dots_that_are_in_no_key_are_not_counted(text: str) -> None:
    """A text or a comment may have as many as it likes; the longest key is taken."""
    assert parse_document(text.encode()).tree is not None
