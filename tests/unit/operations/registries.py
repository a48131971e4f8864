"""Registries for tests, each a change of one that has no fault."""

from collections.abc import Mapping

from anvil_trio.operations.recipe import Registry
from anvil_trio.operations.registry import parse_registry

__all__ = ["GRAPH", "WORKFLOW", "parsed", "registry", "workflow"]

GRAPH = b'{"6": {"class_type": "Text", "inputs": {"text": "", "seed": 1}}}'
Keys = Mapping[str, str | None]
WORKFLOW: Keys = {"id": '"picture.discs"', "version": '"1"', "title": '"Discs"'}


def workflow(*parts: str, **changes: str | None) -> str:
    """One workflow; a key whose text is None is left out."""
    keys = {**WORKFLOW, **changes}
    lines = [f"{key} = {text}" for key, text in keys.items() if text is not None]
    return "\n".join(["[[workflows]]", *lines, *parts])


def parameter(**keys: str) -> str:
    """One parameter."""
    return "\n".join([
        "[[workflows.parameters]]",
        *(f"{key} = {text}" for key, text in keys.items()),
    ])


def profile(**keys: str) -> str:
    """One quality profile."""
    head = "[[workflows.quality_profiles]]"
    return "\n".join([head, *(f"{key} = {text}" for key, text in keys.items())])


def registry(*workflows: str, version: str = "1") -> bytes:
    """A whole file; one workflow, unless some are given."""
    text = "\n".join([f"schema_version = {version}", *(workflows or (workflow(),))])
    return text.encode()


def parsed(
    data: bytes, files: Mapping[str, bytes] | None = None, *, needs_graphs: bool = False
) -> Registry:
    """The registry in `data`, with these files beside it."""
    return parse_registry(data, (files or {}).get, needs_graphs=needs_graphs)
