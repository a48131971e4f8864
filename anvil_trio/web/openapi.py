"""`GET /openapi.json`: the whole surface, made from the tables that it runs on.

Paths, scopes and summaries are the route table's, parameters those that queries are read with, and
schemas those of the structs that pages are built from. Nothing is written down a second time.
"""

import re
from collections.abc import Iterable
from functools import cache

import msgspec
from pydantic import JsonValue

from anvil_trio import __version__
from anvil_trio.views.exposition import TextFormat
from anvil_trio.views.query import PARAMETERS, Kind, Parameter
from anvil_trio.views.shape import Shape
from anvil_trio.web.replies import ERRORS, REPLIES
from anvil_trio.web.router import ROUTES, Pool, Route

__all__ = ["describe", "schemas"]

Described = dict[str, JsonValue]

_REF = "#/components/schemas/{name}"
_KEYS = ("bearer", "api_key")
_VENDOR: Described = {"type": "object", "description": "As the API of this path's vendor has it."}
_JSON = "application/json"
_EVENTS = "text/event-stream"
_VARIABLE = re.compile(r"\{(\w+)\}")


@cache
def describe(hidden: frozenset[str]) -> Described:
    """The document without the paths that this configuration does not have. Do not change it."""
    shown = [route for route in ROUTES.values() if route.path not in hidden]
    paths: dict[str, JsonValue] = {}
    for route in shown:
        operations = paths.setdefault(route.path, {})
        assert isinstance(operations, dict)
        operations[route.method.lower()] = _operation(route)
    shapes = [*ERRORS.values(), *(one for route in shown for one in REPLIES.get(route.name, ()))]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "anvil-serving",
            "version": __version__,
            "description": "One endpoint in front of the model servers of one host.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "api_key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
            "schemas": schemas(shapes),
        },
    }


def schemas(shapes: Iterable[type[Shape]]) -> Described:
    """JSON schemas of these shapes and of all that they hold, by name."""
    _, components = msgspec.json.schema_components(dict.fromkeys(shapes), ref_template=_REF)
    return {name: _as_sent(components[name]) for name in sorted(components)}


def _as_sent(schema: Described) -> Described:
    """A key that has a usual value is never left out of a reply: only an absent one is."""
    keys = schema.get("properties")
    if not isinstance(keys, dict):
        return schema
    said = schema["required"]
    assert isinstance(said, list)
    always: list[JsonValue] = [
        key
        for key, one in keys.items()
        if key in said or (isinstance(one, dict) and "default" in one)
    ]
    return {**schema, "required": always}


def _operation(route: Route) -> Described:
    operation: Described = {
        "operationId": f"{route.method.lower()}_{route.name}",
        "summary": route.summary,
        "parameters": _parameters(route),
        "responses": _responses(route),
        "security": _security(route),
    }
    if route.method == "POST":
        operation["requestBody"] = {"required": True, "content": {_JSON: {"schema": _VENDOR}}}
    return operation


def _security(route: Route) -> list[JsonValue]:
    """Either header; the roles are the scopes of which the caller needs one."""
    if route.scope is None:
        return []
    scopes = {route.scope.value} | ({"operator"} if route.is_operators else set())
    roles: list[JsonValue] = [*sorted(scopes)]
    return [{key: roles} for key in _KEYS]


def _responses(route: Route) -> Described:
    errors = {one.__name__ for name, one in ERRORS.items() if route.dialect in {None, name}}
    return {
        **_success(route),
        "default": {
            "description": "What went wrong, in fixed words.",
            "content": {_JSON: {"schema": _any_of(sorted(errors))}},
        },
    }


def _success(route: Route) -> Described:
    if route.pool in {Pool.FEED, Pool.REALTIME}:
        return {"101": {"description": "A WebSocket, whose messages are JSON objects."}}
    content: Described = {_JSON: {"schema": _reply(route)}}
    if route.name == "metrics":
        content = {kind.value: {"schema": {"type": "string"}} for kind in TextFormat}
    elif route.name == "artifact":
        content = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
    elif route.pool in {Pool.CHAT, Pool.SERVICES} or route.name == "a2a":
        content[_EVENTS] = {"schema": {"type": "string"}}
    return {"200": {"description": "What was asked for.", "content": content}}


def _reply(route: Route) -> JsonValue:
    names = [one.__name__ for one in REPLIES.get(route.name, ())]
    return _any_of(names) if names else dict(_VENDOR)


def _any_of(names: list[str]) -> JsonValue:
    references: list[JsonValue] = [{"$ref": _REF.format(name=name)} for name in names]
    return references[0] if len(references) == 1 else {"anyOf": references}


def _parameters(route: Route) -> list[JsonValue]:
    in_path: list[JsonValue] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _VARIABLE.findall(route.path)
    ]
    return [*in_path, *(_parameter(one) for one in PARAMETERS.get(route.name, ()))]


def _parameter(one: Parameter) -> JsonValue:
    return {
        "name": one.name,
        "in": "query",
        "required": False,
        "description": one.meaning,
        "schema": _schema(one),
    }


def _schema(one: Parameter) -> JsonValue:
    schema: Described = {"type": "string"}
    match one.kind:
        case Kind.NUMBER:
            schema = {"type": "integer", "minimum": one.least, "maximum": one.most}
        case Kind.FLAG:
            schema["enum"] = ["0", "1"]
        case Kind.BOOLEAN:
            schema = {"type": "boolean"}
        case Kind.WORD:
            schema["enum"] = [*one.words]
        case _:
            pass
    if one.usual is not None:
        schema["default"] = one.usual
    return schema
