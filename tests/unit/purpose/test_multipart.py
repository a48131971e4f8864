"""Forms: each part is found where it stands, whatever is in the others."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anvil_trio.errors import Problem
from anvil_trio.purpose.multipart import Form, content_type_of, parse_form, render_form

NAMES = st.sampled_from(["file", "model", "language", "ünïcode", "a b"])
PARTS = st.lists(st.tuples(NAMES, st.binary(max_size=60)), min_size=1, max_size=5)
BOUNDARIES = st.from_regex(r"[0-9A-Za-z'()+_,./:=? -]{0,20}[0-9A-Za-z_-]", fullmatch=True)


def written(boundary: str, parts: list[tuple[str, bytes]]) -> bytes:
    """A form as a client writes it."""
    mark = f"--{boundary}".encode()
    return b"".join([
        *(
            mark
            + f'\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode()
            + value
            + b"\r\n"
            for name, value in parts
        ),
        mark + b"--\r\n",
    ])


@given(BOUNDARIES, PARTS)
def test_every_part_is_found_where_it_stands(boundary, parts):
    """For any names, bytes and boundary: the values cut out of the body are those put in."""
    assume(not any(f"\r\n--{boundary}".encode() in b"\r\n" + value + b"\r\n" for _, value in parts))
    body = written(boundary, parts)
    form = parse_form(content_type_of(boundary.encode()), body)
    assert isinstance(form, Form)
    assert form.boundary == boundary.encode()
    assert [(part.name, body[part.start : part.end]) for part in form.parts] == parts


@pytest.mark.parametrize(
    "file", [b"--b", b"\r\n--", b"\r\n--bx\r\n", b"--b--\r\n", b"\r\n-", b"RIFF--b--", b"\r\n\r\n"]
)
def test_what_looks_like_a_boundary_is_none(file):
    """Only the whole line is one."""
    body = written("b", [("file", file), ("model", b"m")])
    form = parse_form(b"multipart/form-data; boundary=b", body)
    assert isinstance(form, Form)
    assert [body[part.start : part.end] for part in form.parts] == [file, b"m"]


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        (b'multipart/form-data; boundary="b"', b"b"),
        (b'Multipart/Form-Data; charset=utf-8; Boundary="a b"', b"a b"),
        (b"multipart/form-data;boundary=b", b"b"),
    ],
)
def test_a_boundary_may_be_quoted(content_type, boundary):
    """And other parameters may stand beside it."""
    form = parse_form(content_type, written(boundary.decode(), [("model", b"m")]))
    assert isinstance(form, Form)
    assert form.boundary == boundary


@pytest.mark.parametrize(
    ("boundary", "said"),
    [
        (b"b--1", b"multipart/form-data; boundary=b--1"),
        (b"a b", b'multipart/form-data; boundary="a b"'),
        (b"a:b", b'multipart/form-data; boundary="a:b"'),
    ],
)
def test_a_boundary_is_quoted_where_it_must_be(boundary, said):
    """Some servers cannot read one that is quoted without need."""
    assert content_type_of(boundary) == said


GOOD = written("b", [("model", b"m")])


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (b"", GOOD),
        (b"application/json; boundary=b", GOOD),
        (b"multipart/form-data", GOOD),
        (b"multipart/form-data; boundary=", GOOD),
        (b"multipart/form-data; boundary=" + b"b" * 71, GOOD),
        (b'multipart/form-data; boundary="b\r\nx: y"', GOOD),
        (b"multipart/form-data; boundary=other", GOOD),
        (b"multipart/form-data; boundary=b", b""),
        (b"multipart/form-data; boundary=b", GOOD[:-4]),
        (b"multipart/form-data; boundary=b", GOOD[:-5]),
        (b"multipart/form-data; boundary=b", b"--b\r\n\r\nno name\r\n--b--\r\n"),
        (b"multipart/form-data; boundary=b", GOOD.replace(b'"model"', b'""')),
        (b"multipart/form-data; boundary=b", GOOD.replace(b'"model"', b'"\xff"')),
        (b"multipart/form-data; boundary=b", GOOD.replace(b"Content-", b"Con\x00tent-")),
        (b"multipart/form-data; boundary=b", b"--b\r\nX: " + b"y" * 20_000 + b"\r\n\r\n"),
    ],
)
def test_what_is_no_whole_form_is_refused(content_type, body, capfd):
    """400 in fixed words, and nothing of it is written anywhere."""
    found = parse_form(content_type, body)
    assert isinstance(found, Problem)
    assert (found.status, found.param) == (400, None)
    assert capfd.readouterr() == ("", "")


@given(st.binary(max_size=200), st.binary(max_size=60))
def test_any_bytes_are_a_form_or_a_problem(body, boundary):
    """It never raises."""
    assert parse_form(b"multipart/form-data; boundary=" + boundary, body) is not None


def test_a_form_that_we_write_can_be_read():
    """Fields first, then the file; its boundary depends on what is in it."""
    content_type, body = render_form({"model": "m"}, "a.wav", "audio/wav", b"sound")
    form = parse_form(content_type, body)
    assert isinstance(form, Form)
    assert [(part.name, body[part.start : part.end]) for part in form.parts] == [
        ("model", b"m"),
        ("file", b"sound"),
    ]
    assert form.named("file") == [form.parts[1]]
    assert render_form({}, "a", "b", b"other")[0] != content_type
