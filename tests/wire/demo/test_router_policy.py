"""`router run` with an authorization policy: it serves its clients or it does not start."""

import httpx
import pytest

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from tests.unit.config.policy_text import client, policy
from tests.wire.demo.commands import ran, running, url_of

pytestmark = pytest.mark.wire

AT = "server.authorization_policy_path"
KEYS = {
    ROUTER_KEY_ENV: "operator-key-5417-operator",
    "DESKTOP_KEY": "desktop-key-5417-desktop",
    "ANVIL_SERVING_NO_HOME_ENV": "1",
}


@pytest.fixture
def folder(tmp_path):
    """A folder with a configuration, a good policy, and one with two faults."""
    folder = tmp_path.resolve()
    text = render_router_toml({"m": ["http://127.0.0.1:9"]}, model="m", context_limit=100)
    (folder / "router.toml").write_text(text, encoding="utf-8")
    (folder / "good.json").write_bytes(policy(client()))
    (folder / "bad.json").write_bytes(policy(client(scopes=["canary"]), schema_version=7))
    return folder


def named_in_the_file(folder, name):
    """The command line of a router whose configuration names that policy."""
    path = folder / "router.toml"
    line = f'authorization_policy_path = "{folder / name}"\n'
    path.write_text(path.read_text().replace("[server]\n", f"[server]\n{line}", 1))
    return ("router", "run", "--config", str(path), "--port", "0")


def named_on_the_command_line(folder, name):
    """The command line of a router that is told that policy."""
    command = ("router", "run", "--config", str(folder / "router.toml"), "--port", "0")
    return (*command, "--authorization-policy", str(folder / name))


each_way = pytest.mark.parametrize("command", [named_in_the_file, named_on_the_command_line])


@each_way
def test_the_clients_of_a_policy_are_served(command, folder):
    """Its client may discover models and no more, the operator may do everything."""
    with running(*command(folder, "good.json"), **KEYS) as router:
        url = url_of(router.line())
        pages = [("DESKTOP_KEY", "/v1/models", 200), ("DESKTOP_KEY", "/v1/router/status", 403)]
        for key, path, status in [*pages, (ROUTER_KEY_ENV, "/v1/router/status", 200)]:
            headers = {"x-api-key": KEYS[key]}
            reply = httpx.get(url + path, headers=headers, trust_env=False, timeout=10)
            assert reply.status_code == status
        code, _out, err = router.ended()
    assert code == 0
    assert "5417" not in err


@each_way
def test_a_policy_with_a_fault_refuses_the_start(command, folder):
    """Status 2 and every problem on a line, the same on the command line as in the file."""
    done = ran(*command(folder, "bad.json"), **KEYS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        (
            f"{AT}.clients[0].scopes: must be an array of different scopes, at least one, out of:"
            " inference:use, workloads:read"
        ),
        f"{AT}.schema_version: must be 1",
    ]


@each_way
def test_a_policy_that_is_not_there_refuses_the_start(command, folder):
    """No path and no name is told."""
    done = ran(*command(folder, "canary.json"), **KEYS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{AT}: must name a regular file")
    assert "canary" not in done.stderr


def test_the_command_line_has_the_last_word(folder):
    """A policy that is told replaces the one in the file, which is not even read."""
    command = named_in_the_file(folder, "bad.json")
    told = ("--authorization-policy", str(folder / "good.json"))
    with running(*command, *told, **KEYS) as router:
        assert url_of(router.line())


def test_a_policy_without_authentication_refuses_the_start(folder):
    """Without auth_env everybody would be the operator, whatever the policy says."""
    path = folder / "router.toml"
    path.write_text("\n".join(
        line for line in path.read_text().splitlines() if ROUTER_KEY_ENV not in line
    ))  # fmt: skip
    done = ran(*named_on_the_command_line(folder, "good.json"), **KEYS)
    assert (done.returncode, done.stderr) == (2, f"{AT}: needs auth_env\n")
