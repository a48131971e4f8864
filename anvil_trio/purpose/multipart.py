"""`multipart/form-data`: where each part stands, so that one value changes and no other byte does.

The parsing is python-multipart's. What it is lenient about is refused here: a form that does not
end, a part without a name, a boundary that the standard does not allow.
"""

import logging
import re
from dataclasses import dataclass
from hashlib import sha256

from python_multipart.exceptions import ParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from anvil_trio.errors import Code, Problem, problem

__all__ = ["FORM_DATA", "Form", "Part", "content_type_of", "parse_form", "render_form"]

FORM_DATA = b"multipart/form-data"

_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_TOKEN = re.compile(rb"[0-9A-Za-z'+_.-]+")
_SILENT = logging.Logger("multipart", logging.CRITICAL + 1)  # its lines would quote the body
_BROKEN = problem(
    Code.INVALID_REQUEST, message="The body must be a whole form, as multipart/form-data."
)


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its name, and where in the body its value stands."""

    name: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Form:
    """A whole form; the parts are in their order."""

    boundary: bytes
    parts: tuple[Part, ...]

    def named(self, name: str) -> list[Part]:
        """All parts of that name."""
        return [part for part in self.parts if part.name == name]


def parse_form(content_type: bytes, body: bytes) -> Form | Problem:
    """The form in `body`, or a 400 in fixed words. Never raises, whatever they are."""
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if kind != FORM_DATA or not _BOUNDARY.fullmatch(boundary):
        return _BROKEN
    reader = _Reader(boundary, body)
    return Form(boundary, tuple(reader.parts)) if reader.read() else _BROKEN


def content_type_of(boundary: bytes) -> bytes:
    """What a request with a form says of its body."""
    quoted = boundary if _TOKEN.fullmatch(boundary) else b'"%s"' % boundary
    return b"%s; boundary=%s" % (FORM_DATA, quoted)


def render_form(
    fields: dict[str, str], file_name: str, file_type: str, data: bytes
) -> tuple[bytes, bytes]:
    """A form with one file, and its content type. The boundary is nowhere in `data`."""
    boundary = b"form-" + sha256(data).hexdigest()[:32].encode()
    head = b"--%s\r\nContent-Disposition: form-data; " % boundary
    parts = [head + f'name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields.items()]
    file_head = f'name="file"; filename="{file_name}"\r\nContent-Type: {file_type}\r\n\r\n'
    ending = b"\r\n--%s--\r\n" % boundary
    return content_type_of(boundary), b"".join([*parts, head, file_head.encode(), data, ending])


class _Reader:
    """One pass of the parser over a body that is all there: its offsets are the body's."""

    def __init__(self, boundary: bytes, body: bytes) -> None:
        self.parts: list[Part] = []
        self._body = body
        self._is_sound = True
        self._field = self._name = b""
        self._span = (0, 0)
        self._has_ended = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_part_data": self._on_part_data,
                "on_part_end": self._on_part_end,
                "on_end": self._on_end,
            },
        )
        self._parser.logger = _SILENT

    def read(self) -> bool:
        """Whether the body is a whole form."""
        try:
            self._parser.write(self._body)
        except ParseError:
            return False
        return self._has_ended and self._is_sound

    def _on_part_begin(self) -> None:
        self._name, self._span = b"", (0, 0)

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._field = data[start:end].lower()

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        if self._field == b"content-disposition":
            self._name = parse_options_header(data[start:end])[1].get(b"name", b"")

    def _on_part_data(self, _data: bytes, start: int, end: int) -> None:
        self._span = (start, end)

    def _on_part_end(self) -> None:
        try:
            name = self._name.decode()
        except UnicodeDecodeError:
            name = ""
        self._is_sound = self._is_sound and bool(name)
        self.parts.append(Part(name, *self._span))

    def _on_end(self) -> None:
        self._has_ended = True
