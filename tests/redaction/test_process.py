"""R012 for a whole process: what a planted router and the commands that ask it write anywhere."""

import http.client

import pytest

from anvil_trio.cli.main import main
from tests.redaction.faults import ASKED, CONTENT_TYPES, PATHS
from tests.redaction.planted import ENVIRON, OPERATOR, leaks, plant
from tests.redaction.test_commands import HOSTILE, LEAVES, words_of
from tests.wire.demo.commands import running

pytestmark = pytest.mark.wire

ASKING = [leaf for leaf in LEAVES if any(each.name == "--router-url" for each in leaf.options)]
GOOD = {"--tier": "pair", "--timeout": "1", "--reason": "upgrade"}


@pytest.fixture(scope="module")
def router(tmp_path_factory):
    """A planted router without engines; its address, and in the end what it wrote."""
    folder = tmp_path_factory.mktemp("planted")
    plant(folder)
    config = folder / "kanarie-folder" / "kanarie-router.toml"
    with running("router", "run", "--config", str(config), "--port", "0", **ENVIRON) as process:
        line = process.line()
        yield line.split()[2]
        status, out, err = process.ended()
    logged = (config.parent / "kanarie-decisions.jsonl").read_bytes()
    assert status == 0
    assert logged
    assert not leaks("stdout", line + out) + leaks("stderr", err) + leaks("log", logged)


@pytest.mark.parametrize("dialect", PATHS)
def test_a_router_without_engines_leaks_nothing(dialect, router):
    """R012: neither an answer nor, when it has ended, the router's output holds a canary."""
    connection = http.client.HTTPConnection(router.rpartition("/")[2], timeout=10)
    for asked, bodies in ASKED.items():
        connection.request(
            "POST",
            PATHS[dialect],
            bodies[dialect],
            {
                "authorization": f"Bearer {OPERATOR}",
                "x-anvil-session-id": "kanarie" * 30,
                "content-type": CONTENT_TYPES[dialect].decode(),
            },
        )
        answer = connection.getresponse()
        shown = str(answer.headers).encode() + answer.read()
        assert answer.status >= 400
        assert not leaks(asked, shown)
    connection.close()


def lines_of(leaf, router):
    """One leaf as it should be used, then with a canary in one option after the other."""
    good = [*leaf.words[1:], "--router-url", router]
    for option in leaf.options:
        good += [option.name, GOOD[option.name]] if option.name in GOOD else []
    yield good
    yield [*good, "--json"]
    for option in leaf.options:
        if not option.is_flag:
            yield [*good, option.name, HOSTILE]
            yield [*good, option.name, HOSTILE, "--json"]
            yield [*good, option.name, "kanarie"]


@pytest.mark.parametrize("leaf", ASKING, ids=words_of)
def test_a_command_that_asks_leaks_nothing(leaf, router, capfd, monkeypatch):
    """R012: what a command says of a router and of its own options holds no canary."""
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", OPERATOR)
    found = []
    for line in lines_of(leaf, router):
        with pytest.raises(SystemExit):
            main(line)
        said = capfd.readouterr()
        found += leaks(str(line[2:]), said.out) + leaks(str(line[2:]), said.err)
    assert not found
