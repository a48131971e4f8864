"""What ComfyUI says, read strictly: whatever is not as expected is no answer at all. Pure."""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec
from pydantic import JsonValue

from anvil_trio.operations.backend import Broken, Done, Found, Job, Output, Running, Waiting
from anvil_trio.operations.model import Scalar

__all__ = [
    "MARK",
    "NotUnderstood",
    "graph_of",
    "read_event",
    "read_handle",
    "read_history",
    "read_queue",
    "read_upload",
    "render_prompt",
]

MARK = "anvil_operation"
"""The name under which a job carries its key, for a ComfyUI that gives jobs names of its own."""

_Object: TypeAlias = Mapping[str, JsonValue]
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_MAX_WORD = 1024
_FILE = ("filename", "subfolder", "type")


class NotUnderstood(Exception):  # noqa: N818 - named by what happened, as trio does
    """What came back is not what ComfyUI says."""


def graph_of(job: Job, uploads: Mapping[str, str]) -> dict[str, JsonValue]:
    """The recipe's graph with the job's values put in; an artifact is the file it was sent as.

    A parameter without a value leaves the graph's own.
    """
    graph = copy.deepcopy(dict(job.recipe.graph or {}))
    for name, target in job.recipe.targets.items():
        value: Scalar | None = uploads.get(name, job.values.get(name))
        node = graph[target.node]
        assert isinstance(node, dict), "the registry checked its targets"
        inputs = node["inputs"]
        assert isinstance(inputs, dict), "the registry checked its graphs"
        if value is not None:
            inputs[target.input] = value
    return graph


def render_prompt(job: Job, uploads: Mapping[str, str], client_id: str) -> bytes:
    """The body that puts a job in line under its own key."""
    return msgspec.json.encode({
        "prompt": graph_of(job, uploads),
        "prompt_id": job.key,
        "client_id": client_id,
        "extra_data": {MARK: job.key},
    })


def read_handle(body: bytes) -> str | None:
    """What ComfyUI calls the job that it has put in line."""
    handle = _object(body).get("prompt_id")
    return handle if isinstance(handle, str) and _ID.fullmatch(handle) else None


def read_upload(body: bytes) -> str | None:
    """What a file that was sent is called in a graph."""
    found = _object(body)
    name, folder = found.get("name"), found.get("subfolder", "")
    if not isinstance(name, str) or not name or not isinstance(folder, str):
        return None
    return f"{folder}/{name}" if folder else name


def read_queue(body: bytes, names: frozenset[str]) -> Found | None:
    """Waiting or Running if the job of those names is in line; None if it is not.

    Raises NotUnderstood where the body says neither.
    """
    found = _decode(body)
    for key, answer in (("queue_running", Running()), ("queue_pending", Waiting())):
        rows = found.get(key)
        if not isinstance(rows, list):
            raise NotUnderstood
        if any(_is_ours(row, names) for row in rows):
            return answer
    return None


def read_history(body: bytes, names: frozenset[str]) -> Found | None:
    """How the job of those names ended; None if nothing is known of it.

    Raises NotUnderstood where the body says neither.
    """
    for handle, entry in _decode(body).items():
        if not isinstance(entry, dict):
            raise NotUnderstood
        if handle in names or _is_ours(entry.get("prompt"), names):
            return _ending(entry)
    return None


def read_event(message: str) -> str | None:
    """The job that an event is about, or None."""
    data = _object(message.encode()).get("data")
    handle = data.get("prompt_id") if isinstance(data, dict) else None
    return handle if isinstance(handle, str) else None


def _is_ours(row: JsonValue, names: frozenset[str]) -> bool:
    """A row of the queue: a number, the job's name, its graph, what came beside it, and more."""
    if not isinstance(row, list):
        return False
    beside = row[3] if len(row) > 3 else None  # noqa: PLR2004 - its place
    mark = beside.get(MARK) if isinstance(beside, dict) else None
    return (len(row) > 1 and row[1] in names) or mark in names


def _ending(entry: _Object) -> Found:
    status = entry.get("status")
    word = status.get("status_str") if isinstance(status, dict) else None
    if word == "error":
        return Broken()
    outputs = entry.get("outputs")
    return Done(tuple(_files(outputs)) if isinstance(outputs, dict) else ())


def _files(outputs: _Object) -> Iterator[Output]:
    """Every kept file of every node, in order; previews are not kept."""
    for node in outputs.values():
        for rows in node.values() if isinstance(node, dict) else ():
            for row in rows if isinstance(rows, list) else ():
                words = _words(row)
                if words is not None and words[2] == "output":
                    yield Output(words)


def _words(row: JsonValue) -> tuple[str, str, str] | None:
    if not isinstance(row, dict):
        return None
    name, folder, kind = (row.get(key) for key in _FILE)
    if not (isinstance(name, str) and isinstance(folder, str) and isinstance(kind, str)):
        return None
    words = (name, folder, kind)
    return words if name and all(len(word) <= _MAX_WORD for word in words) else None


def _object(body: bytes) -> _Object:
    """The object that `body` holds; an empty one if it is anything else."""
    try:
        return _decode(body)
    except NotUnderstood:
        return {}


def _decode(body: bytes) -> _Object:
    try:
        found: JsonValue = msgspec.json.decode(body)
    except ValueError:  # no JSON, or no text
        raise NotUnderstood from None
    if not isinstance(found, dict):
        raise NotUnderstood
    return found
