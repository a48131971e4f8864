"""What the demo can be asked to make, and where it keeps it."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["REGISTRY_NAME", "WORKFLOWS", "media_environ"]

REGISTRY_NAME = "workflows.toml"

WORKFLOWS = """\
schema_version = 1

[[workflows]]
id = "picture.discs"
version = "1"
title = "A picture of discs"
description = "Draws discs on a ground. The same words draw the same picture."

[[workflows.parameters]]
name = "prompt"
kind = "string"
required = true
max_length = 500
description = "Any words; their meaning is not looked at."

[[workflows.parameters]]
name = "width"
kind = "integer"
default = 256
minimum = 16
maximum = 512

[[workflows.parameters]]
name = "height"
kind = "integer"
default = 256
minimum = 16
maximum = 512

[[workflows.parameters]]
name = "steps"
kind = "integer"
default = 20
minimum = 1
maximum = 600
description = "How long it takes: twenty are a second."

[[workflows.parameters]]
name = "base"
kind = "artifact"
description = "A picture to begin with; it changes the discs."

[[workflows.quality_profiles]]
id = "draft"
title = "Small and soon"
locked = { steps = 4, width = 128, height = 128 }

[[workflows.quality_profiles]]
id = "fine"
title = "Large and late"
locked = { steps = 60, width = 512, height = 512 }

[[workflows]]
id = "picture.approved"
version = "1"
title = "A picture that somebody agrees to first"
requires_approval = true

[[workflows.parameters]]
name = "prompt"
kind = "string"
required = true
max_length = 500
"""
"""The registry of the demo, for the embedded backend."""


def media_environ(folder: Path) -> Mapping[str, str]:
    """The variables that keep everything in `folder`, whatever the shell has set."""
    return {
        "ANVIL_MEDIA_BACKEND_URL": "",
        "ANVIL_MEDIA_STATE_DB": str(folder / "operations.sqlite3"),
        "ANVIL_MEDIA_ARTIFACT_ROOT": str(folder / "artifacts"),
        "ANVIL_MEDIA_WORKFLOW_REGISTRY": str(folder / REGISTRY_NAME),
    }
