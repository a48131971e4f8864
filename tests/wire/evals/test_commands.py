"""`eval` and `conform` as a person runs them: what they print, keep and mean."""

import hashlib
import json
import signal
import time
import tomllib
from functools import partial

import pytest
import trio

from anvil_trio.config.parse import parse_config
from anvil_trio.names import is_qualification_ref
from tests.redaction.planted import leaks
from tests.support.loose_engine import open_loose_engine
from tests.wire.demo.commands import ran, running, url_of

pytestmark = pytest.mark.wire
KEY = "kanarie-engine-key-1"
ROUTES = '[router.model_routes]\n"llm.primary" = "demo-model"\n\n'


@pytest.fixture(scope="module")
def engine():
    """The URL of a quick demo engine."""
    with running("demo-engine", "--tokens-per-second", "400") as command:
        yield url_of(command.line())


def asked(engine, tmp_path, *words, **environ):
    """A preflight of the demo engine."""
    where = {"ANVIL_SERVING_HOME": str(tmp_path), "COLUMNS": "200", **environ}
    return ran("eval", "preflight", "--url", engine, "--model", "demo-model", *words, **where)


def test_a_preflight_names_its_evidence_and_proposes_a_tier(engine, tmp_path):
    """The tier loads as it was printed; the evidence has the digest that it is named by."""
    done = asked(engine, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    rows, _, tier = done.stdout.partition("[[router.tiers]]")
    assert rows.count("pass ") == 16
    assert rows.count("n/a ") == 2
    assert "not a promotion" in rows
    (config,) = parse_config(f"{ROUTES}[[router.tiers]]{tier}".encode()).tiers
    assert (config.model, config.base_url, config.context_limit) == ("demo-model", engine, 8192)
    (path,) = (tmp_path / "evidence").iterdir()
    assert path.stem in done.stdout
    assert path.stem == f"preflight-{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert is_qualification_ref(path.stem)
    assert path.stat().st_mode & 0o077 == 0


def test_a_preflight_in_json_is_one_object(engine, tmp_path):
    """With the checks, the name of the evidence and the tier as text; elsewhere if so told."""
    done = asked(engine, tmp_path, "--json", "--evidence", str(tmp_path / "elsewhere"))
    said = json.loads(done.stdout)
    assert (done.returncode, said["ok"], said["command"]) == (0, True, "eval preflight")
    data = said["data"]
    assert (tmp_path / "elsewhere" / f"{data['qualification_ref']}.json").is_file()
    assert data["promotes"] is False
    assert tomllib.loads(data["tier"])["router"]["tiers"][0]["tool_support"] is True
    assert {check["outcome"] for check in data["checks"]} == {"passed", "not_applicable"}


def test_a_key_travels_and_is_never_shown(engine, tmp_path):
    """Neither on a terminal nor in JSON nor in the evidence; nor is the address in the evidence."""
    for words in ((), ("--json",)):
        done = asked(engine, tmp_path, "--auth-env", "E", *words, E=KEY)
        assert done.returncode == 0
        assert not leaks("preflight", done.stdout + done.stderr)
    for path in (tmp_path / "evidence").iterdir():
        kept = path.read_text()
        assert not leaks("evidence", kept)
        assert "127.0.0.1" not in kept
        assert "hello" not in kept


def test_what_cannot_be_kept_is_told(engine, tmp_path):
    """A folder that is a file: status 1, in fixed words."""
    (tmp_path / "kanarie").write_text("")
    done = asked(engine, tmp_path, "--evidence", str(tmp_path / "kanarie"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("evidence_not_written: ")
    assert not leaks("stderr", done.stderr)


@pytest.mark.parametrize("command", [("eval", "preflight"), ("eval", "benchmark"), ("conform",)])
@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("--url", "http://kanarie:kanarie@127.0.0.1", "--model", "m"), 2, "invalid_url"),
        (("--url", "http://127.0.0.1:9/", "--model", "kanarie\n"), 2, "invalid_model"),
        (
            ("--url", "http://127.0.0.1:9/", "--model", "m", "--auth-env", "KANARIE"),
            2,
            "credential_required",
        ),
        (("--url", "http://127.0.0.1:9/kanarie", "--model", "kanarie"), 4, "server_unreachable"),
    ],
)
def test_what_cannot_begin_is_refused_in_fixed_words(command, words, status, code, tmp_path):
    """On a terminal and in JSON, with the status of its class."""
    done = ran(*command, *words, "--timeout", "5", ANVIL_SERVING_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"{code}: ")
    as_json = ran(*command, *words, "--json", ANVIL_SERVING_HOME=str(tmp_path))
    assert (as_json.returncode, as_json.stderr) == (status, "")
    assert json.loads(as_json.stdout)["error"]["code"] == code
    assert not leaks("said", done.stderr + as_json.stdout)


@pytest.mark.timeout(180)
async def test_a_failed_check_is_status_1_and_repeats_nothing_that_was_said(tmp_path):
    """An engine and a gateway that answer with secrets in every place."""
    evil = (
        b'{"error":{"type":"kanarie","message":"kanarie","code":"kanarie"},"model":"kanarie",'
        b'"choices":[{"message":{"content":"kanarie"},"finish_reason":"kanarie"}]}'
    )

    async def answer(_engine, stream):
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        await stream.send_all(head % len(evil) + evil)

    async with open_loose_engine(answer) as bad:
        for words in (("eval", "preflight"), ("conform",)):
            for more in ((), ("--json",)):
                command = [*words, "--url", f"{bad.url}/kanarie", "--model", "demo-model", *more]
                where = {"ANVIL_SERVING_HOME": str(tmp_path / "kanarie"), "COLUMNS": "200"}
                done = await trio.to_thread.run_sync(partial(ran, *command, **where))
                assert done.returncode == 1, done.stderr
                assert not leaks("said", done.stdout + done.stderr)
                assert ("check_failed" in done.stderr) is (not more)
    for path in (tmp_path / "kanarie" / "evidence").iterdir():
        assert not leaks("evidence", path.read_text())


def test_a_benchmark_is_a_table_a_plot_and_an_object(engine, tmp_path):
    """Against itself it adds next to nothing."""
    words = ["--url", engine, "--model", "demo-model", "--concurrency", "1,2", "--requests", "2"]
    words += ["--output-tokens", "8", "--prompt-tokens", "16", "--against", engine]
    picture = tmp_path / "plot.svg"
    done = ran("eval", "benchmark", *words, "--svg", str(picture), COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    assert "what --against adds" in done.stdout
    assert picture.read_text().startswith("<svg")
    said = json.loads(ran("eval", "benchmark", *words, "--json").stdout)
    assert [one["concurrency"] for one in said["data"]["rounds"]] == [1, 2]
    assert [one["errors"] for one in said["data"]["against"]] == [{}, {}]
    assert all(abs(one["first_token_p50_ms"]) < 500 for one in said["data"]["added"])


def test_a_benchmark_of_failures_is_status_1(engine, tmp_path):
    """They are counted by kind; a plot that cannot be written is told likewise."""
    words = ["--url", engine, "--model", "kanarie", "--concurrency", "1", "--requests", "2"]
    done = ran("eval", "benchmark", *words, COLUMNS="200")
    assert done.returncode == 1
    assert "http_404=2" in done.stdout
    assert done.stderr.startswith("requests_failed: ")
    words[3] = "demo-model"
    done = ran("eval", "benchmark", *words, "--output-tokens", "2", "--svg", "/kanarie/x.svg")
    assert done.returncode == 1
    assert done.stderr.startswith("plot_not_written: ")
    assert not leaks("said", done.stdout + done.stderr)


@pytest.mark.parametrize("steps", ["", "0", "1,", "1,x", "-1", "1025", "1, 2", ",".join("1" * 17)])
def test_rounds_that_are_none_are_refused(steps):
    """In the words of every other usage error."""
    done = ran("eval", "benchmark", "--url", "http://a", "--model", "m", f"--concurrency={steps}")
    assert done.returncode == 2
    assert "The value of --concurrency is not valid." in done.stderr


def test_what_only_a_second_server_has_needs_one():
    """Its model and its key."""
    for option in ("--against-model", "--against-auth-env"):
        done = ran("eval", "benchmark", "--url", "http://a", "--model", "m", option, "kanarie")
        assert done.returncode == 2
        assert "need --against." in done.stderr


@pytest.mark.parametrize(
    "command", [("eval", "preflight"), ("eval", "benchmark", "--requests", "500"), ("conform",)]
)
async def test_ctrl_c_ends_it_at_once(command, tmp_path):
    """Status 130, nothing on stdout, no traceback, no evidence."""

    async def silent(_engine, _stream):
        await trio.sleep_forever()

    async with open_loose_engine(silent) as engine:
        where = {"ANVIL_SERVING_HOME": str(tmp_path)}
        with running(*command, "--url", engine.url, "--model", "demo-model", **where) as child:
            with trio.fail_after(30):
                while not engine.asked:
                    await trio.sleep(0.02)
            begun = time.monotonic()
            ended = await trio.to_thread.run_sync(lambda: child.ended(signal.SIGINT))
    assert ended == (130, "", "")
    assert time.monotonic() - begun < 5
    assert not list(tmp_path.iterdir())
