"""Small fixed answers at the edge: probes, `OPTIONS`, wrong paths and wrong methods.

None of them calls an engine, takes a place or leaves a record. A hint names paths and methods of
the route table and never what was asked (R012).
"""

from http import HTTPStatus

from anvil_trio.errors import Code, Problem, problem
from anvil_trio.web import router
from anvil_trio.web.asgi_types import Headers, Message, Send
from anvil_trio.web.respond import send_json

__all__ = ["allow_header", "answer_root", "refusal_at", "send_empty", "without_body"]

_ROOT = {"name": "anvil-serving"}
_MEANT = "There is nothing at this path; the path is {}, and `/v1` stands in it once."
_TAKES = "This path takes {}."
_ASKED = frozenset({"GET", "POST"})  # the methods that the table names


async def answer_root(send: Send) -> None:
    """`/`, which some clients probe before they hold a key: that something is here."""
    await send_json(send, dict(_ROOT))


async def send_empty(send: Send, headers: Headers) -> None:
    """204 with these headers."""
    start = {"type": "http.response.start", "status": HTTPStatus.NO_CONTENT, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def refusal_at(path: str) -> Problem:
    """Why no route was found: 404 with what the path was meant to be, or 405 with its methods."""
    methods = router.methods_of(path)
    if methods:
        words = _TAKES.format(" and ".join(one for one in methods if one in _ASKED))
        return problem(Code.METHOD_NOT_ALLOWED, message=words)
    meant = router.path_meant(path)
    return problem(Code.NOT_FOUND, message=None if meant is None else _MEANT.format(meant))


def allow_header(path: str) -> Headers:
    """`Allow` for a path that is there; nothing for one that is not."""
    methods = router.methods_of(path)
    return [(b"allow", ", ".join(methods).encode())] if methods else []


def without_body(send: Send) -> Send:
    """A `send` for HEAD that keeps heads, `Content-Length` included, and drops what follows."""

    async def head_only(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return head_only
