"""The application of the stock command: its lifespan opens and closes the house."""

import trio
from structlog.testing import capture_logs

from anvil_trio.app import StockApp

CONFIG = """
[server]
auth_env = "ROUTER_TOKEN"
[router]
[[router.tiers]]
id = "primary"
dialect = "openai"
privacy = "local"
tool_support = true
auth_env = "ENGINE_KEY"
model = "m"
context_limit = 1000
base_url = "http://127.0.0.1:9/v1"
[router.model_routes]
chat = "primary"
"""


async def live(app: StockApp, ask: bool = True) -> list[dict[str, object]]:
    """One lifespan; in between, one request without a key."""
    sent: list[dict[str, object]] = []
    give, take = trio.open_memory_channel[dict[str, object]](1)
    give.send_nowait({"type": "lifespan.startup"})

    async def send(message):
        sent.append(dict(message))
        if message["type"] == "lifespan.startup.complete":
            if ask:
                scope: dict[str, object] = {
                    "type": "http",
                    "method": "GET",
                    "path": "/",
                    "headers": [],
                }
                await app(scope, take.receive, keep)
            give.send_nowait({"type": "lifespan.shutdown"})

    async def keep(message):
        sent.append(dict(message))

    await app({"type": "lifespan"}, take.receive, send)
    return sent


async def test_the_house_lives_as_long_as_the_lifespan(tmp_path):
    """Startup opens the configured house, requests are served, shutdown closes it."""
    path = tmp_path / "router.toml"
    path.write_text(CONFIG)
    environ = {"ANVIL_CONFIG": str(path), "ROUTER_TOKEN": "t", "HOME": str(tmp_path)}
    sent = await live(StockApp(environ))
    assert [message["type"] for message in sent] == [
        "lifespan.startup.complete",
        "http.response.start",
        "http.response.body",
        "lifespan.shutdown.complete",
    ]
    assert sent[1]["status"] == 401


async def test_a_refused_configuration_fails_the_start(tmp_path):
    """Every problem is told to the server and in one event line; nothing is opened."""
    path = tmp_path / "router.toml"
    path.write_text(CONFIG)
    environ = {"ANVIL_CONFIG": str(path), "HOME": str(tmp_path)}
    with capture_logs() as lines:
        [message] = await live(StockApp(environ))
    assert message["type"] == "lifespan.startup.failed"
    assert "server.auth_env" in str(message["message"])
    assert [line["event"] for line in lines] == ["config_refused"]


async def test_a_refused_policy_fails_the_start(tmp_path):
    """The stock command is no way round the authorization policy."""
    path = tmp_path / "router.toml"
    line = 'authorization_policy_path = "/canary/absent.json"\n'
    path.write_text(CONFIG.replace("[router]\n", f"{line}[router]\n", 1))
    environ = {"ANVIL_CONFIG": str(path), "ROUTER_TOKEN": "t", "HOME": str(tmp_path)}
    with capture_logs() as lines:
        [message] = await live(StockApp(environ))
    assert message["type"] == "lifespan.startup.failed"
    assert str(message["message"]).startswith("server.authorization_policy_path: ")
    assert "canary" not in str(message["message"]) + str(lines)
