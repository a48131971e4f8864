"""A router process with the embedded media backend, for tests on real sockets."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.running_router import RunningRouter, open_router

__all__ = ["free_port", "open_media_router"]

REGISTRY = """\
schema_version = 1

[[workflows]]
id = "picture"
version = "1"
title = "A picture of discs"
description = "Draws discs."

[[workflows.parameters]]
name = "prompt"
kind = "string"
required = true
max_length = 200

[[workflows.parameters]]
name = "steps"
kind = "integer"
default = 2
minimum = 1
maximum = 2000

[[workflows.quality_profiles]]
id = "draft"
title = "Draft"
locked = { steps = 1 }
"""

_SETTINGS = """\
media_principal = "studio"
media_scopes = ["media:read", "media:submit", "media:cancel"]
media_public_origin = "http://127.0.0.1:{port}"
media_backend = "demo"
heartbeat_interval_s = 0.5
"""


def free_port() -> int:
    """A port that nobody has now: an artifact's URL has to name the router's before it starts."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@asynccontextmanager
async def open_media_router(
    folder: Path, urls: list[str], port: int, *, settings: str = ""
) -> AsyncIterator[RunningRouter]:
    """A router at this port; what it keeps is in `folder`, for the next one there to go on."""
    (folder / "workflows.toml").write_text(REGISTRY)
    async with open_router(
        folder,
        urls,
        settings=_SETTINGS.format(port=port) + settings,
        port=port,
        ANVIL_MEDIA_STATE_DB=str(folder / "operations.sqlite3"),
        ANVIL_MEDIA_ARTIFACT_ROOT=str(folder / "artifacts"),
        ANVIL_MEDIA_WORKFLOW_REGISTRY=str(folder / "workflows.toml"),
    ) as router:
        yield router
