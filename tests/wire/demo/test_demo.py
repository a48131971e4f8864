"""`anvil-serving demo` from start to end, as a person sees it."""

import json
import shlex
import signal
import subprocess
from contextlib import ExitStack

import pytest

from anvil_trio.demo.text import compose
from tests.wire.demo.commands import ran, running, url_of

pytestmark = pytest.mark.wire


def members(out):
    """Which member took which request, in order, as the lines say."""
    turns = [line.split() for line in out.splitlines() if line[:1].isdigit()]
    return [words[1] for words in turns if words[1] != "stream:"]


def test_the_show_alternates_members_and_ends_with_success():
    """`run_demo` with --once: a, b, a, b, then the streamed one, status 0, nothing on stderr."""
    done = ran("demo", "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert members(done.stdout) == ["a", "b", "a", "b", "a"]
    streamed = next(line for line in done.stdout.splitlines() if line.startswith("5  stream: "))
    prompt = "user: Tell me a story while I listen."
    assert streamed == "5  stream: " + "".join(compose(prompt))


def test_the_router_serves_until_ctrl_c_and_the_printed_lines_work():
    """The curl lines are real: chat, stream, status and a picture; SIGINT ends it with status 0."""
    with running("demo") as demo:
        lines = demo.lines_until("The router serves until Ctrl-C.")
        assert members("\n".join(lines)) == ["a", "b", "a", "b", "a"]
        chat, stream, status, task = (demo.lines_until("curl ")[-1] for _ in range(4))
        assert json.loads(curled(chat))["choices"][0]["finish_reason"] == "stop"
        assert curled(stream).rstrip().endswith("data: [DONE]")
        assert json.loads(curled(status))["object"] == "router_status"
        [made] = json.loads(curled(task))["result"]["task"]["artifacts"]
        assert made["parts"][0]["mediaType"] == "image/png"
        code, _out, err = demo.ended(signal.SIGINT)
    assert (code, err) == (0, "")


def curled(line):
    """What a curl line prints."""
    return subprocess.run(
        shlex.split(line), capture_output=True, text=True, timeout=30, check=True
    ).stdout


def test_ctrl_c_in_the_middle_of_the_show_ends_it_quietly():
    """A signal between two requests: no traceback, status 0, nothing failed."""
    with running("demo") as demo:
        demo.lines_until("1  a")
        code, out, err = demo.ended(signal.SIGINT)
    assert (code, err) == (0, "")
    assert "failed" not in out


def test_engines_that_already_run_can_be_shown():
    """Two engines make a replica tier, one a direct tier, under the name they serve."""
    with ExitStack() as stack:
        engine = ("demo-engine", "--model", "mine", "--tokens-per-second", "500")
        engines = [stack.enter_context(running(*engine)) for _ in range(2)]
        one, two = (url_of(each.line()) for each in engines)
        both = ran("demo", "--once", "--member", one, "--member", two, "--model", "mine")
        alone = ran("demo", "--once", "--member", one, "--model", "mine")
    assert (both.returncode, members(both.stdout)) == (0, ["a", "b", "a", "b", "a"])
    assert alone.returncode == 0
    assert alone.stdout.count("the only one") == 5


def test_members_that_no_router_would_take_are_all_told():
    """Status 2 and one line for each, without the URLs."""
    urls = ["http://localhost:1/canary-5417", "ftp://127.0.0.1:2/canary-5417"]
    done = ran("demo", "--once", "--member", urls[0], "--member", urls[1], "--model", "m")
    assert done.returncode == 2
    assert done.stdout == ""
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "router.tiers[0].replicas[0].base_url",
        "router.tiers[0].replicas[1].base_url",
    ]
    assert "canary-5417" not in done.stderr
