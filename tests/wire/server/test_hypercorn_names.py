"""What we override in hypercorn or rely on is as it was when it was read.

A failure here means: read hypercorn's change, correct `anvil_trio/server`, then write the new
digest down. `python -m tests.wire.server.test_hypercorn_names` prints them all.
"""

import ast
import hashlib
import importlib.metadata
import inspect
import sys
import textwrap
from pathlib import Path

import pytest

from anvil_trio.server import hypercorn_names as names

pytestmark = pytest.mark.wire

PACKAGE = Path(names.__file__).parents[1]

READ = {
    "Config.log": "e62b32b4581f71f3",
    "Config.response_headers": "6cb4c7ef922dc100",
    "Logger.__init__": "80c0379d2c49c24f",
    "Logger.access": "7cee9ff688debc41",
    "Lifespan.handle_lifespan": "7bef44f78e509be8",
    "Lifespan.wait_for_startup": "e78b38fb798ce59f",
    "Lifespan.wait_for_shutdown": "5297f4d88b3a9a8f",
    "WorkerContext.__init__": "b6bf5ed541f9e7f9",
    "WorkerContext.mark_request": "60a538fbc0a7d785",
    "H2Protocol.__init__": "faf1cd75d3091057",
    "H2Protocol.idle": "a489a9c8db3ed6ac",
    "H2Protocol.initiate": "32aaeb7e08074ac0",
    "H2Protocol.send_task": "caf8c4c04f7c02ce",
    "H2Protocol._send_data": "f3dba2d497575d57",
    "H2Protocol.handle": "bb659a19ec96e625",
    "H2Protocol.stream_send": "36b5a27b9ee65d9a",
    "H2Protocol._handle_events": "4ae5fa19110daef6",
    "H2Protocol._flush": "e122d0ef130c02d5",
    "H2Protocol._window_updated": "d6944f478d5d84b1",
    "H2Protocol._priority_updated": "a7f801f3763f17f3",
    "H2Protocol._create_stream": "ba809e0c3226f1b1",
    "H2Protocol._close_stream": "7e230876d7280280",
    "StreamBuffer": "7d0a6121131b893b",
    "HTTPStream": "c8f2de9298b7c83e",
    "Handshake": "d2e1b9f7be643e22",
    "WSStream": "6edbcd0f4bc49a9f",
    "WebsocketBuffer": "1b5b71ee1cfecfc1",
    "TaskGroup": "45965150fcf92a92",
    "wrap_app": "4bb03932de277acf",
    "parse_socket_addr": "9882c945416dfffd",
}


def source_of(path: str) -> object:
    """The class or function at a dotted path."""
    found: object = names
    for step in path.split("."):
        found = inspect.getattr_static(found, step)
    return found.fget if isinstance(found, property) else found


def digest_of(path: str) -> str:
    """A digest of the code, not of its layout or comments."""
    source = textwrap.dedent(inspect.getsource(source_of(path)))  # type: ignore[arg-type]
    return hashlib.sha256(ast.dump(ast.parse(source)).encode()).hexdigest()[:16]


def test_hypercorn_is_of_the_minor_that_was_read():
    """`hypercorn_names`: the installed hypercorn is a 0.18."""
    assert importlib.metadata.version("hypercorn").startswith("0.18.")


@pytest.mark.parametrize("path", READ)
def test_what_we_rely_on_is_unchanged(path):
    """`hypercorn_names`: the code that we override, or whose steps we rely on, is the same."""
    assert digest_of(path) == READ[path]


def test_hypercorn_is_imported_in_one_place():
    """`hypercorn_names`: no other module of the package imports hypercorn."""
    importers = {
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hypercorn"))
        or (isinstance(node, ast.Import) and node.names[0].name.startswith("hypercorn"))
    }
    assert importers == {"hypercorn_names.py"}


if __name__ == "__main__":
    for each in READ:
        sys.stdout.write(f'    "{each}": "{digest_of(each)}",\n')
