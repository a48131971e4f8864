"""An ordinary client of the router, as any program that speaks OpenAI's API would be."""

from collections.abc import Callable
from dataclasses import dataclass

import httpx
import msgspec

__all__ = ["Answer", "RouterClient", "RouterGone"]

_CHAT = "/v1/chat/completions"


class _Content(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Content | None = None
    delta: _Content | None = None


class _Error(msgspec.Struct):
    code: str


class _Reply(msgspec.Struct):
    choices: list[_Choice] = []
    error: _Error | None = None

    @property
    def texts(self) -> list[str]:
        """What the first choices say, in a plain reply or in one event of a stream."""
        said = [choice.message or choice.delta for choice in self.choices]
        return [each.content for each in said if each and each.content]


class _Readiness(msgspec.Struct):
    state: str


class _Member(msgspec.Struct):
    readiness: _Readiness


class _Model(msgspec.Struct):
    members: list[_Member] = []


class _Models(msgspec.Struct):
    data: list[_Model]


@dataclass(frozen=True, slots=True)
class Answer:
    """How one request ended: the router's id for it, its text, the code of a failure if it failed.

    `problem` is one of the router's codes, or `connection` where there was no usable reply.
    """

    request_id: str | None
    text: str = ""
    problem: str | None = None


class RouterGone(Exception):  # noqa: N818 - named by what happened, as trio does
    """The router takes no more connections: it is being stopped."""


class RouterClient:
    """Asks for `alias` at the router that `http` knows: base URL, token, no environment.

    What becomes of a request is in its answer; the one thing that is raised is RouterGone.
    """

    def __init__(self, http: httpx.AsyncClient, alias: str) -> None:
        self._http = http
        self._alias = alias

    async def ask(self, prompt: str, on_piece: Callable[[str], None] | None = None) -> Answer:
        """One chat request, sent once; streamed if `on_piece` is given, which hears each piece."""
        try:
            if on_piece is None:
                response = await self._http.post(_CHAT, content=self._body(prompt, is_stream=False))
                return _answer(response)
            return await self._listen(prompt, on_piece)
        except (httpx.TransportError, msgspec.MsgspecError):
            await self.count_ready()  # a router that is being stopped closes its idle connections
            return Answer(None, problem="connection")

    async def count_ready(self) -> int:
        """How many named members the router would use now; 0 for a tier that names none."""
        try:
            response = await self._http.get("/v1/models")
            models = msgspec.json.decode(response.content, type=_Models)
        except httpx.ConnectError:
            raise RouterGone from None
        except (httpx.TransportError, msgspec.MsgspecError):
            return 0
        members = [member for model in models.data for member in model.members]
        return sum(member.readiness.state == "ready" for member in members)

    async def _listen(self, prompt: str, on_piece: Callable[[str], None]) -> Answer:
        body = self._body(prompt, is_stream=True)
        async with self._http.stream("POST", _CHAT, content=body) as response:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                return _answer(response)
            pieces: list[str] = []
            problem: str | None = None
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    event = msgspec.json.decode(line.removeprefix("data: "), type=_Reply)
                    problem = event.error.code if event.error else problem
                    pieces.extend(event.texts)
                    for piece in event.texts:
                        on_piece(piece)
        return Answer(_request_id(response), "".join(pieces), problem)

    def _body(self, prompt: str, *, is_stream: bool) -> bytes:
        messages = [{"role": "user", "content": prompt}]
        return msgspec.json.encode({
            "model": self._alias,
            "messages": messages,
            "stream": is_stream,
        })


def _answer(response: httpx.Response) -> Answer:
    reply = msgspec.json.decode(response.content, type=_Reply)
    problem = reply.error.code if reply.error else None
    return Answer(_request_id(response), "".join(reply.texts), problem)


def _request_id(response: httpx.Response) -> str | None:
    found: str | None = response.headers.get("x-anvil-request-id")
    return found
