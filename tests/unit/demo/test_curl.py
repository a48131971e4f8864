"""The lines a person may paste."""

import json
import shlex

from anvil_trio.demo.curl import curl_lines


def test_each_line_is_one_request_with_the_key():
    """Chat, stream, status and a picture, each with the bearer key, survive a shell unchanged."""
    chat, stream, status, task = (
        shlex.split(line) for line in curl_lines("http://h:1", "k", "demo")
    )
    assert chat[2] == stream[2] == "http://h:1/v1/chat/completions"
    assert status[2] == "http://h:1/v1/router/status"
    assert task[2] == "http://h:1/a2a"
    for line in (chat, stream, status, task):
        assert line[line.index("-H") + 1] == "Authorization: Bearer k"
    assert json.loads(chat[-1])["model"] == "demo"
    assert json.loads(stream[-1])["stream"] is True
    assert json.loads(task[-1])["method"] == "SendMessage"
