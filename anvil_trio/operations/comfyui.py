"""ComfyUI, managed by somebody else, as a backend: four small requests, each bounded.

It is a literal address near by: nothing is resolved, no redirect followed, no proxy used and no
environment read. A job is handed over under a name of ours, so that it can be found again.
"""

import secrets
from collections.abc import Callable

import msgspec
import trio

from anvil_trio.facts import Answer, Silence
from anvil_trio.net.small_get import get_small, post_small
from anvil_trio.operations.backend import (
    Absent,
    BackendUnavailable,
    Found,
    Job,
    Output,
    Rejected,
    Running,
    TooLarge,
)
from anvil_trio.operations.comfyui_events import listen
from anvil_trio.operations.comfyui_words import (
    NotUnderstood,
    read_handle,
    read_history,
    read_queue,
    read_upload,
    render_prompt,
)
from anvil_trio.operations.form import render_file
from anvil_trio.operations.signatures import media_type_of
from anvil_trio.upstream.client import open_probe_client
from anvil_trio.upstream.stream import UpstreamTransport

__all__ = ["ComfyUi"]

_ASK_S = 10.0
_MOVE_S = 120.0  # for whole files
_MAX_ANSWER_BYTES = 16_777_216  # queue and history repeat the graphs
_OK, _BAD_REQUEST = 200, 400
_RETRY_S = 2.0
_UNHEARD = 64  # how far back a job is looked for whose name was never heard
_EXTENSIONS = {"image/png": "png", "video/mp4": "mp4"}


class ComfyUi:
    """One ComfyUI at `url`; it owns `transport`."""

    name = "comfyui"

    def __init__(self, url: str, transport: UpstreamTransport) -> None:
        self._url = url.rstrip("/")
        self._transport = transport
        self._client = open_probe_client(transport, url)
        self._client_id = secrets.token_hex(16)

    async def find(self, key: str, handle: str | None) -> Found:
        """Asked in the order in which a job moves, so that none slips through: line, then history.

        A ComfyUI that gave the job a name of its own, which we did not live to write down, is asked
        for its newest jobs, which carry our key.
        """
        names = frozenset({key} if handle is None else {key, handle})
        found = await self._read(read_queue, names, "/queue")
        if found is None:
            found = await self._read(read_history, names, f"/history/{handle or key}")
        if found is None and handle is None:
            query = {"max_items": str(_UNHEARD)}
            found = await self._read(read_history, names, "/history", query)
        return Absent() if found is None else found

    async def submit(self, job: Job) -> str | Rejected:
        """Send the job's files, then put it in line; once, whatever comes back."""
        uploads = {name: await self._upload(data) for name, data in job.artifacts.items()}
        answer = await self._post("/prompt", render_prompt(job, uploads, self._client_id))
        if answer.status == _BAD_REQUEST:
            return Rejected()
        handle = read_handle(_body(answer))
        if handle is None:
            raise BackendUnavailable
        return handle

    async def cancel(self, key: str, handle: str | None) -> None:
        """Take it out of the line; interrupt it only if it is what runs, as that may hit others."""
        name = handle or key
        names = frozenset({key, name})
        _body(await self._post("/queue", msgspec.json.encode({"delete": sorted(names)})))
        if await self._read(read_queue, names, "/queue") == Running():
            _body(await self._post("/interrupt", msgspec.json.encode({"prompt_id": name})))

    async def fetch(self, output: Output, max_bytes: int) -> bytes:
        """The bytes of a file that a job has made."""
        name, folder, kind = output.words
        query = {"filename": name, "subfolder": folder, "type": kind}
        answer = await get_small(
            self._client,
            "/view",
            key=None,
            timeout_s=_MOVE_S,
            max_bytes=max_bytes,
            query=query,
            accept="*/*",
        )
        if isinstance(answer, Silence) or answer.status != _OK:
            raise BackendUnavailable
        if answer.body is None:
            raise TooLarge
        return answer.body

    async def watch(self, news: Callable[[str], None]) -> None:
        """Listen to its events for as long as it tells any, and again when it does once more."""
        while True:
            await listen(self._url, self._client_id, news)
            await trio.sleep(_RETRY_S)

    async def aclose(self) -> None:
        """Close the idle connections."""
        await self._transport.aclose()

    async def _read(
        self,
        read: Callable[[bytes, frozenset[str]], Found | None],
        names: frozenset[str],
        path: str,
        query: dict[str, str] | None = None,
    ) -> Found | None:
        answer = await get_small(
            self._client,
            path,
            key=None,
            timeout_s=_ASK_S,
            max_bytes=_MAX_ANSWER_BYTES,
            query=query,
        )
        try:
            return read(_body(answer), names)
        except NotUnderstood:
            raise BackendUnavailable from None

    async def _upload(self, data: bytes) -> str:
        """Send an artifact under a name made of its bytes: sent again, it is the same file."""
        extension = _EXTENSIONS[media_type_of(data) or "image/png"]
        content_type, body = render_file(data, extension, secrets.token_hex)
        answer = await post_small(
            self._client,
            "/upload/image",
            body,
            timeout_s=_MOVE_S,
            max_bytes=_MAX_ANSWER_BYTES,
            content_type=content_type,
        )
        name = read_upload(_body(answer))
        if name is None:
            raise BackendUnavailable
        return name

    async def _post(self, path: str, body: bytes) -> Answer:
        answer = await post_small(
            self._client, path, body, timeout_s=_ASK_S, max_bytes=_MAX_ANSWER_BYTES
        )
        if isinstance(answer, Silence):
            raise BackendUnavailable
        return answer


def _body(answer: Answer | Silence) -> bytes:
    """What a good answer says; anything else is to be asked again."""
    if isinstance(answer, Silence) or answer.status != _OK or answer.body is None:
        raise BackendUnavailable
    return answer.body
