"""Authorization policies for tests, as the JSON values they are written from."""

import json
from collections.abc import Mapping

__all__ = ["client", "in_file", "policy"]


def client(name: str = "desktop", **changes: object) -> dict[str, object]:
    """A client whose credential is in the variable of its name; a change to None leaves out."""
    keys = {
        "id": name,
        "scopes": ["inference:use"],
        "credential_env": f"{name.upper()}_KEY",
        **changes,
    }
    return {key: value for key, value in keys.items() if value is not None}


def in_file(path: object, name: str = "desktop") -> dict[str, object]:
    """A client whose credential is in a file."""
    return client(name, credential_env=None, credential_file=str(path))


def policy(*clients: object, **changes: object) -> bytes:
    """A whole policy."""
    root: Mapping[str, object] = {"schema_version": 1, "clients": [*clients], **changes}
    return json.dumps({key: value for key, value in root.items() if value is not None}).encode()
