"""`anvil-serving router install-config --dry-run` against a router that runs."""

from functools import partial

import pytest
import trio

from tests.support.running_router import TOKEN, open_engines, open_router
from tests.wire.demo.commands import ran

pytestmark = pytest.mark.wire

ROW = """
[[resources]]
id = "engine-{id}"
role = "{id}"
host = "this-host"
runtime = "native"
endpoint = "{url}"
"""
TOPOLOGY = """
schema_version = 1
id = "lab"
[[hosts]]
id = "this-host"
roles = []
[[runtimes]]
id = "native"
host = "this-host"
role = "native"
"""


async def test_a_dry_run_asks_the_router_for_its_tiers(tmp_path):
    """T015: the router's own configuration, validated, then compared with what it serves."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:
        rows = (ROW.format(id=name, url=url) for name, url in zip("ab", urls, strict=True))
        (tmp_path / "topology.toml").write_text(TOPOLOGY + "".join(rows))
        command = partial(
            ran,
            *("router", "install-config", "--dry-run", "--router-url", router.base_url),
            *("--config", str(tmp_path / "router.toml")),
            *("--topology", str(tmp_path / "topology.toml")),
            ANVIL_ROUTER_TOKEN=TOKEN,
        )
        done = await trio.to_thread.run_sync(command)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[2:] == ["current_tiers: chat", "desired_tiers: chat"]
        (tmp_path / "topology.toml").write_text(TOPOLOGY)
        done = await trio.to_thread.run_sync(command)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "router config install failed: replica_resource_missing\n"
