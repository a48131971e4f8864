"""The schemas of docs/observability.md: written from the code, and read back from the page."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.house.tree import ROOT

__all__ = ["PAGE", "find_faults", "read_schemas", "render_schemas"]

PAGE = ROOT / "docs" / "observability.md"

_BLOCK = re.compile(r"<!-- schemas:begin -->\n```text\n(.*?)```\n<!-- schemas:end -->", re.DOTALL)


def type_of(schema: Mapping[str, Any]) -> str:
    """A JSON schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(map(type_of, schema["anyOf"]))
    if "enum" in schema:
        words = (f'"{one}"' if isinstance(one, str) else str(one).lower() for one in schema["enum"])
        return " | ".join(words)
    if schema.get("type") == "array":
        inner = schema["items"]
        return f"[{type_of(inner)}]"
    if "additionalProperties" in schema and "properties" not in schema:
        return f"{{name: {type_of(schema['additionalProperties'])}}}"
    return str(schema["type"])


def render_schemas(components: Mapping[str, Any]) -> str:
    """All components: an object's keys with their types, a list of words as itself."""
    lines: list[str] = []
    for name, schema in sorted(components.items()):
        if "properties" not in schema:
            lines += [f"{name}: {type_of(schema)}", ""]
            continue
        required = set(schema["required"])
        lines.append(name)
        for key, one in schema["properties"].items():
            mark = "" if key in required else "?"
            lines.append(f"  {key}{mark}: {type_of(one)}")
        lines.append("")
    return "\n".join(lines)


def read_schemas(text: str) -> dict[str, dict[str, str] | str]:
    """The page's own word: keys and types by object, words by list."""
    (block,) = _BLOCK.findall(text)
    found: dict[str, dict[str, str] | str] = {}
    keys: dict[str, str] = {}
    for line in block.splitlines():
        if line.startswith("  "):
            key, _, kind = line.strip().partition(": ")
            keys[key] = kind
        elif ": " in line:
            name, _, kind = line.partition(": ")
            found[name] = kind
        elif line:
            found[line] = keys = {}
    return found


def find_faults(
    value: Any, kind: str, schemas: Mapping[str, dict[str, str] | str], at: str = ""
) -> Iterable[str]:
    """What a reply holds that its documented kind does not, and what it lacks."""
    if isinstance(value, list):
        inner = kind[kind.index("[") + 1 : kind.rindex("]")]
        for number, one in enumerate(value):
            yield from find_faults(one, inner, schemas, f"{at}[{number}]")
    elif isinstance(value, dict):
        yield from _object_faults(value, kind, schemas, at)
    elif not _is_one(value, kind, schemas):
        yield f"{at} is not {kind}"


def _object_faults(value, kind, schemas, at) -> Iterable[str]:
    named = re.search(r"\{name: (.*)\}", kind)
    if named is not None:
        for key, one in value.items():
            yield from find_faults(one, named[1], schemas, f"{at}.{key}")
        return
    (name,) = [one for one in kind.split(" | ") if isinstance(schemas.get(one), dict)]
    keys = schemas[name]
    assert isinstance(keys, dict)
    known = {key.removesuffix("?"): one for key, one in keys.items()}
    for key in sorted(value.keys() - known.keys()):
        yield f"{at}.{key} is not documented"
    for key in sorted({key for key in keys if not key.endswith("?")} - value.keys()):
        yield f"{at}.{key} is missing"
    for key in value.keys() & known.keys():
        yield from find_faults(value[key], known[key], schemas, f"{at}.{key}")


def _is_one(value, kind, schemas) -> bool:
    """Whether a plain value is of one of the kinds that are named."""
    words: list[str] = []
    for one in kind.split(" | "):
        inner = schemas.get(one)
        words += inner.split(" | ") if isinstance(inner, str) else [one]
    if isinstance(value, bool):
        return bool({"boolean", str(value).lower()} & set(words))
    if value is None:
        return "null" in words
    if isinstance(value, str):
        return bool({"string", f'"{value}"'} & set(words))
    return "number" in words or ("integer" in words and isinstance(value, int))
