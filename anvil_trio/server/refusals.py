"""What the server says when no application can: fixed words, in the shape of every other error."""

from http import HTTPStatus

from anvil_trio.dialects.chat_errors import render_problem
from anvil_trio.errors import Code, Problem, problem

__all__ = ["refusal"]

_WORDS = {
    HTTPStatus.BAD_REQUEST: "The bytes that came are no valid HTTP request.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "The request's head is too large.",
}


def refusal(status: int) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Headers and body for a request that no application has answered."""
    body = render_problem(_problem(status))
    headers = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        (b"content-length", b"%d" % len(body)),
    ]
    return headers, body


def _problem(status: int) -> Problem:
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return problem(Code.INTERNAL_ERROR)
    return problem(Code.INVALID_REQUEST, status=status, message=_WORDS[HTTPStatus(status)])
