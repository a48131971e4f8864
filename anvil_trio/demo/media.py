"""The demo's media workflows: named here, run by the embedded backend, kept in its own folder."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["REGISTRY_NAME", "WORKFLOWS", "media_environ"]

REGISTRY_NAME = "workflows.toml"
"""The file of the registry, in the demo's folder."""

WORKFLOWS = """\
schema_version = 1

[[workflows]]
id = "picture.discs"
version = "1"
title = "A picture of discs"
description = "Draws overlapping discs; other words, another picture."

[[workflows.parameters]]
name = "prompt"
kind = "string"
required = true
max_length = 400
description = "What the picture is to be of."

[[workflows.parameters]]
name = "width"
kind = "integer"
default = 128
minimum = 16
maximum = 512

[[workflows.parameters]]
name = "height"
kind = "integer"
default = 128
minimum = 16
maximum = 512

[[workflows.parameters]]
name = "steps"
kind = "integer"
default = 10
minimum = 1
maximum = 400
description = "How long it is drawn: twenty steps a second."

[[workflows.quality_profiles]]
id = "draft"
title = "Small and quick"
locked = { width = 64, height = 64, steps = 2 }
"""


def media_environ(folder: Path) -> Mapping[str, str]:
    """Where the router is to keep jobs and what they make, all of it below `folder`."""
    return {
        "ANVIL_MEDIA_BACKEND_URL": "",
        "ANVIL_MEDIA_STATE_DB": str(folder / "operations.sqlite3"),
        "ANVIL_MEDIA_ARTIFACT_ROOT": str(folder / "artifacts"),
        "ANVIL_MEDIA_WORKFLOW_REGISTRY": str(folder / REGISTRY_NAME),
    }
