"""`anvil-serving router run` as a process: what it prints and how it ends."""

import json

import httpx
import pytest

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from tests.wire.demo.commands import ran, running, url_of

pytestmark = pytest.mark.wire

KEY = "a-key-for-this-test"


@pytest.fixture
def config(tmp_path):
    """A configuration over one engine that is not there."""
    path = tmp_path / "router.toml"
    text = render_router_toml({"m": ["http://127.0.0.1:9"]}, model="m", context_limit=100)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_router_says_where_it_listens_and_ends_at_a_signal(config):
    """The printed URL answers; event lines are JSON on stderr; SIGTERM gives status 0."""
    with running("router", "run", "--config", str(config), "--port", "0", **environ()) as router:
        url = url_of(router.line())
        assert httpx.get(f"{url}/healthz", trust_env=False, timeout=10).json() == {"status": "ok"}
        code, out, err = router.ended()
    assert (code, out) == (0, "")
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert events[-2:] == ["draining", "stopped"]
    assert {"readiness_changed"} >= set(events[:-2])


def test_without_a_path_the_operators_home_is_asked(config):
    """`$ANVIL_SERVING_HOME/router.toml` is taken where no --config is given."""
    home = environ(ANVIL_SERVING_HOME=str(config.parent))
    with running("router", "run", "--port", "0", **home) as router:
        assert url_of(router.line())


def test_every_problem_is_told_and_no_path(tmp_path):
    """Status 2, all problems one a line on stderr, and neither path nor value is repeated."""
    path = tmp_path / "canary-5417.toml"
    path.write_text('[server]\ncanary = 1\n[router]\ntiers = "canary-5417"\n', encoding="utf-8")
    done = ran("router", "run", "--config", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) >= 3
    assert "canary-5417" not in done.stderr
    gone = ran("router", "run", "--config", str(tmp_path / "canary-5417"))
    assert (gone.returncode, gone.stderr) == (2, "there is no such file\n")


def test_a_secret_that_is_named_and_not_set_is_a_problem(config):
    """The router does not start open to all: status 2, naming the key and not the variable."""
    done = ran("router", "run", "--config", str(config), "--port", "0", **environ(key=""))
    assert done.returncode == 2
    assert done.stderr.startswith("server.auth_env: ")
    assert ROUTER_KEY_ENV not in done.stderr


def test_a_port_that_is_taken_is_one_clear_line(config):
    """Status 1, and no traceback."""
    command = ("router", "run", "--config", str(config), "--port")
    with running(*command, "0", **environ()) as router:
        port = url_of(router.line()).rpartition(":")[2]
        done = ran(*command, port, **environ())
    assert done.returncode == 1
    assert done.stderr == "The address is already in use; --port 0 takes any free port.\n"


def test_an_address_that_others_can_reach_is_warned_of(config):
    """Listening on all addresses prints a warning on stderr and goes on."""
    command = ("router", "run", "--config", str(config), "--port", "0", "--host", "0.0.0.0")
    with running(*command, **environ()) as router:
        assert url_of(router.line()).startswith("http://0.0.0.0:")
        _code, _out, err = router.ended()
    assert err.startswith("Warning: this address can be reached from other machines.\n")


def test_a_router_that_asks_nobody_for_a_token_is_warned_of(config):
    """Where a misspelt heading loses [server].auth_env, a warning on stderr says who may call."""
    text = config.read_text(encoding="utf-8")
    assert "[server]" in text
    config.write_text(text.replace("[server]", "[sever]"), encoding="utf-8")
    with running("router", "run", "--config", str(config), "--port", "0", **environ()) as router:
        assert url_of(router.line())
        _code, _out, err = router.ended()
    assert err.startswith("Warning: no server.auth_env: whoever reaches the router may use it.\n")


def environ(key=KEY, **others):
    """The environment of a router that has its key and knows nothing of this user's."""
    return {ROUTER_KEY_ENV: key, "ANVIL_SERVING_NO_HOME_ENV": "1", **others}
