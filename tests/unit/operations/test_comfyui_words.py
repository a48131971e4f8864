"""What ComfyUI is told and what it may answer."""

import hashlib
import json

import pytest

from anvil_trio.operations.backend import Broken, Done, Found, Job, Output, Running, Waiting
from anvil_trio.operations.comfyui_words import (
    MARK,
    NotUnderstood,
    graph_of,
    read_event,
    read_handle,
    read_history,
    read_queue,
    read_upload,
    render_prompt,
)
from anvil_trio.operations.form import render_file
from anvil_trio.operations.model import Workflow
from anvil_trio.operations.recipe import Recipe, Target

NAMES = frozenset({"key-1", "handle-1"})
GRAPH = {"6": {"class_type": "Text", "inputs": {"text": "old", "seed": 1, "image": ""}}}
RECIPE = Recipe(
    Workflow("w", "1", "W"),
    GRAPH,  # type: ignore[arg-type]
    {"prompt": Target("6", "text"), "seed": Target("6", "seed"), "picture": Target("6", "image")},
)
JOB = Job("key-1", RECIPE, {"prompt": "words", "picture": "art_x"}, {"picture": b"bytes"})


def said(value: object) -> bytes:
    """An answer."""
    return json.dumps(value).encode()


def row(name: object, mark: object = None) -> list[object]:
    """A job in line."""
    return [1, name, {}, {"client_id": "c", MARK: mark}, []]


def ended(**entry: object) -> bytes:
    """The history of one job."""
    return said({"key-1": {"prompt": row("key-1"), **entry}})


def test_values_are_put_where_the_registry_says() -> None:
    """One that is not given leaves the graph's own; an artifact is the file it was sent as."""
    graph = graph_of(JOB, {"picture": "sent.png"})
    assert graph == {
        "6": {"class_type": "Text", "inputs": {"text": "words", "seed": 1, "image": "sent.png"}}
    }
    assert GRAPH["6"]["inputs"] == {"text": "old", "seed": 1, "image": ""}


def test_a_job_travels_under_our_own_key() -> None:
    """As its name, and beside it for a ComfyUI that gives names of its own."""
    body = json.loads(render_prompt(JOB, {}, "client"))
    assert body["prompt_id"] == "key-1"
    assert body["client_id"] == "client"
    assert body["extra_data"] == {MARK: "key-1"}


@pytest.mark.parametrize(
    ("body", "handle"),
    [
        (said({"prompt_id": "p-1", "number": 3}), "p-1"),
        (said({"prompt_id": "../x"}), None),
        (said({"prompt_id": 3}), None),
        (said([]), None),
        (b"<html>", None),
    ],
)
def test_a_handle_is_a_plain_word(body: bytes, handle: str | None) -> None:
    """Anything else would end in a path."""
    assert read_handle(body) == handle


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (said({"name": "a.png", "subfolder": "", "type": "input"}), "a.png"),
        (said({"name": "a.png", "subfolder": "in"}), "in/a.png"),
        (said({"name": "a.png"}), "a.png"),
        (said({"name": ""}), None),
        (said({"name": "a", "subfolder": 1}), None),
        (said({}), None),
    ],
)
def test_a_file_that_was_sent_has_a_name_in_the_graph(body: bytes, name: str | None) -> None:
    """With its folder, if it is in one."""
    assert read_upload(body) == name


@pytest.mark.parametrize(
    ("running", "pending", "found"),
    [
        ([], [], None),
        ([row("key-1")], [], Running()),
        ([row("other")], [row("key-1")], Waiting()),
        ([], [row("handle-1")], Waiting()),
        ([row("other", "key-1")], [], Running()),
        ([["short"], "no row", [1, "key-2", {}, "beside"]], [], None),
    ],
)
def test_the_line_is_searched_for_the_job(
    running: list[object], pending: list[object], found: Found | None
) -> None:
    """By its key, by the name that ComfyUI gave it, and by the mark beside it."""
    body = said({"queue_running": running, "queue_pending": pending})
    assert read_queue(body, NAMES) == found


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", said({"queue_running": 1})])
def test_a_line_that_is_none_is_no_answer(body: bytes) -> None:
    """A job must not be taken for forgotten because of it."""
    with pytest.raises(NotUnderstood):
        read_queue(body, NAMES)


FILES = {
    "9": {"images": [{"filename": "a.png", "subfolder": "s", "type": "output"}, "no row"]},
    "10": {
        "images": [
            {"filename": "b.png", "subfolder": "", "type": "temp"},
            {"filename": "", "subfolder": "", "type": "output"},
            {"filename": "c" * 1025, "subfolder": "", "type": "output"},
            {"filename": "d.png", "type": "output"},
        ],
        "animated": [True],
        "text": "words",
    },
    "11": "no node",
    "12": {"gifs": [{"filename": "e.mp4", "subfolder": "", "type": "output"}]},
}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"{}", None),
        (said({"other": {"prompt": row("other")}}), None),
        (said({"other": {"prompt": row("other", "key-1"), "outputs": {}}}), Done(())),
        (
            ended(outputs=FILES, status={"status_str": "success"}),
            Done((Output(("a.png", "s", "output")), Output(("e.mp4", "", "output")))),
        ),
        (ended(outputs=FILES, status={"status_str": "error"}), Broken()),
        (ended(outputs=3), Done(())),
        (ended(), Done(())),
    ],
)
def test_the_history_says_how_a_job_ended(body: bytes, found: Found | None) -> None:
    """With the files that are to be kept; previews and what is no file are passed over."""
    assert read_history(body, NAMES) == found


@pytest.mark.parametrize("body", [b"", b"[]", said({"key-1": 1})])
def test_a_history_that_is_none_is_no_answer(body: bytes) -> None:
    """Neither an end nor a loss."""
    with pytest.raises(NotUnderstood):
        read_history(body, NAMES)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ('{"type": "executing", "data": {"node": null, "prompt_id": "p"}}', "p"),
        ('{"type": "status", "data": {"status": {}}}', None),
        ('{"type": "status", "data": 1}', None),
        ('{"type": "x", "data": {"prompt_id": 1}}', None),
        ("no JSON", None),
    ],
)
def test_an_event_names_its_job_or_nothing(message: str, name: str | None) -> None:
    """Nothing else of it is believed."""
    assert read_event(message) == name


def test_a_file_is_sent_under_the_digest_of_its_bytes() -> None:
    """So that sending it again makes no second one."""
    content_type, body = render_file(b"bytes", "png", lambda size: "b" * size)
    assert content_type == b"multipart/form-data; boundary=" + b"b" * 16
    assert b'name="overwrite"\r\n\r\ntrue\r\n' in body
    assert body.endswith(b"bytes\r\n--" + b"b" * 16 + b"--\r\n")
    name = hashlib.sha256(b"bytes").hexdigest()[:32]
    assert f'name="image"; filename="anvil-{name}.png"'.encode() in body
