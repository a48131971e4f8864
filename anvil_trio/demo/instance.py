"""A value that fits a JSON schema, without a model: the same for the same schema and prompt."""

from collections.abc import Mapping

from anvil_trio.demo.text import compose

__all__ = ["instance_of"]

_DEPTH = 16  # of a schema that refers to itself
_SCALARS: Mapping[str, object] = {"integer": 7, "number": 0.5, "boolean": True, "null": None}


def instance_of(schema: object, prompt: str) -> object:
    """A value for `schema`, as far as it is understood.

    Understood are `const`, `enum`, `type`, `properties`, `items`, `anyOf`, `oneOf`, `allOf` (the
    first of each) and `$ref` within the schema. Bounds and patterns are not; what says nothing is
    a word. A schema that refers to itself ends in null.
    """
    return _made(schema, schema, prompt, _DEPTH)


def _made(schema: object, root: object, prompt: str, depth: int) -> object:
    if not isinstance(schema, Mapping) or not depth:
        return None
    if "const" in schema:
        return schema["const"]
    for name in ("enum", "anyOf", "oneOf", "allOf"):
        options = schema.get(name)
        if isinstance(options, list) and options:
            first = options[0]
            return first if name == "enum" else _made(first, root, prompt, depth - 1)
    if "$ref" in schema:
        return _made(_found(str(schema["$ref"]), root), root, prompt, depth - 1)
    return _of_type(schema, root, prompt, depth)


def _of_type(schema: Mapping[str, object], root: object, prompt: str, depth: int) -> object:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0] if kind else "null"
    match kind:
        case "object":
            properties = schema.get("properties")
            named = properties.items() if isinstance(properties, Mapping) else ()
            return {name: _made(one, root, prompt, depth - 1) for name, one in named}
        case "array":
            items = schema.get("items")
            return [] if items is None else [_made(items, root, prompt, depth - 1)]
        case "string":
            return compose(prompt)[-1].strip(" .")
        case _:
            return _SCALARS.get(str(kind))


def _found(reference: str, root: object) -> object:
    """What a reference such as `#/$defs/City` names, or nothing."""
    found = root
    for name in reference.removeprefix("#").split("/")[1:]:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
