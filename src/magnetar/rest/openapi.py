"""The admin API as an OpenAPI document, made of the table of its routes. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Final, get_args, get_origin

from magnetar.auth.access import Access
from magnetar.model.policy_values import fields_of
from magnetar.rest.arguments import NUMBERS
from magnetar.rest.exchange import JSON
from magnetar.rest.router import ANY_METHOD, Query, Route

_PLAIN: Final = {int: "integer", bool: "boolean", float: "number", str: "string"}


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type, as ``model/policy_values.py`` reads it from JSON."""
    origin = get_origin(kind)
    if origin is UnionType:
        return schema_of(get_args(kind)[0])
    if origin is tuple or kind is tuple:
        return {"type": "array", "items": {"type": "string"}}
    if origin is Mapping:
        of = get_args(kind)[1]
        return {"type": "object", "additionalProperties": {} if of is Any else schema_of(of)}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"type": "string", "enum": [str(each) for each in kind]}
    if isinstance(kind, type) and is_dataclass(kind):
        fields = {field.key: schema_of(field.kind) for field in fields_of(kind)}
        return {"type": "object", "properties": fields}
    return {"type": _PLAIN[kind]}


def schema_like(example: Any) -> dict[str, Any]:
    """The schema of values like this one. An empty list or object says nothing of its items."""
    if isinstance(example, dict):
        if example and all(key.startswith("{") for key in example):  # A name of whatever is there.
            [item] = example.values()
            return {"type": "object", "additionalProperties": schema_like(item)}
        properties = {key: schema_like(item) for key, item in example.items()}
        return {"type": "object", "properties": properties} if example else {"type": "object"}
    if isinstance(example, list):
        return {"type": "array", "items": schema_like(example[0])} if example else {"type": "array"}
    return {"type": _PLAIN[type(example)]}


Json = dict[str, Any]

_VERBS: Final = {"GET": "Show", "POST": "Set", "PUT": "Set", "DELETE": "Remove"}
_REASONS: Final = {
    "400": "The request cannot be read",
    "401": "Nobody says who asks, or not rightly",
    "403": "The role that asks may not do this",
    "404": "Something that the path names does not exist",
    "409": "It is there already, or in use",
    "412": "The names or values cannot be, or something else must be done first",
    "415": "The body is of another type",
}
_DESCRIPTION: Final = """\
Apache Pulsar's admin REST API, as this broker answers it; what differs from Pulsar, and what \
the policies do, is in docs/admin.md. Names in paths are URL-encoded, each as one segment. A GET \
of what is not set answers 200 without a body, and a change 204. A broker that runs functions \
answers /admin/v3/functions, too: docs/functions.md.

`x-magnetar-access` is what a role must be allowed to do where the broker asks who it is."""


def document(routes: Iterable[Route], *, version: str) -> Json:
    """OpenAPI 3.1 of all routes but those of everything below a path."""
    *_, whole = growing(routes, version=version)
    return whole


def growing(routes: Iterable[Route], *, version: str) -> Iterator[Json]:
    """The document, which grows by a route each time: others can be served meanwhile."""
    paths: dict[str, Json] = {}
    segments: dict[str, Json] = {}
    found: Json = {
        "openapi": "3.1.0",
        "info": {"title": "Magnetar admin API", "version": version, "description": _DESCRIPTION},
        "paths": paths,
        "components": {**_COMPONENTS, "parameters": segments},
    }
    yield found
    shapes: dict[str, str] = {}
    for route in routes:
        if route.method == ANY_METHOD:
            continue
        # Two routes may name one segment differently; to OpenAPI that is one path.
        path = shapes.setdefault(_shape(route.path), route.path)
        names = _names(path)
        segments.update((name, _segment(name)) for name in names if name not in segments)
        item = paths.setdefault(path, {"parameters": [_ref("parameters", name) for name in names]})
        item[route.method.lower()] = _operation(route, path)
        yield found


def summary(route: Route) -> str:
    """What a route does: the first sentence of its handler, or its method and path in words."""
    said = (route.function.__doc__ or "").partition("\n\n")[0].split()
    if said:
        return " ".join(said).partition(". ")[0].removesuffix(".")
    return f"{_VERBS[route.method]} {_words(route.path)}"


def _operation(route: Route, path: str) -> Json:
    operation: Json = {
        "operationId": "_".join([route.method.lower(), *_slug(path)]),
        "summary": summary(route),
        "tags": [route.function.__module__.rpartition(".")[2].replace("_", " ")],
        "parameters": list(map(_parameter, route.parameters)),
        "responses": dict(_responses(route)),
        "x-magnetar-access": route.access.name,
        "security": [] if route.access is Access.PUBLIC else [{}, *_CREDENTIALS],
    }
    if route.takes:
        schema = _schema(route.body)
        operation["requestBody"] = {"content": {kind: {"schema": schema} for kind in route.takes}}
    return operation


_CREDENTIALS: Final[list[Json]] = [{"token": []}, {"basic": []}, {"certificate": []}]


def _responses(route: Route) -> Iterator[tuple[str, Json]]:
    yield "200", _response("Done, or what was asked for", _schema(route.answer), route.gives)
    yield "204", {"description": "Done, or nothing is set"}
    for code in _REASONS:
        if code == "415" and not route.takes:
            continue
        if code in ("401", "403") and route.access is Access.PUBLIC:
            continue
        yield code, _ref("responses", code)
    yield "default", _ref("responses", "default")


def _response(text: str, schema: Json, kind: str = JSON) -> Json:
    return {"description": text, "content": {kind: {"schema": schema}}}


def _ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def _schema(said: Any) -> Json:
    """Of a type, or of what a function that gives an example gives; anything where nothing is."""
    if said is None:
        return {}
    is_example = isinstance(said, Callable) and not isinstance(said, type)  # type: ignore[arg-type]
    return schema_like(said()) if is_example else schema_of(said)


def _segment(name: str) -> Json:
    kind = {"type": "integer"} if name in NUMBERS else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": kind}


def _parameter(query: Query) -> Json:
    said: Json = {"name": query.name, "in": "query", "schema": {"type": query.kind}}
    return said | ({"required": True} if query.required else {})


_COMPONENTS: Final[Json] = {
    "schemas": {"Reason": {"type": "object", "properties": {"reason": {"type": "string"}}}},
    "responses": {
        code: _response(text, _ref("schemas", "Reason"))
        for code, text in [*_REASONS.items(), ("default", "Anything else that went wrong")]
    },
    "securitySchemes": {
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "basic": {"type": "http", "scheme": "basic"},
        "certificate": {"type": "mutualTLS"},
    },
}


def _shape(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


def _names(path: str) -> list[str]:
    return re.findall(r"\{([^}]*)\}", path)


def _slug(path: str) -> list[str]:
    parts = path.removeprefix("/admin/v2/").strip("/").split("/")
    return [re.sub(r"\W", "_", part.replace("{", "by_").removesuffix("}")) for part in parts]


def _words(path: str) -> str:
    """A path in words: ``retention of a namespace``."""
    parts = path.removeprefix("/admin/v2/").split("/")
    literals = [part for part in parts if not part.startswith("{")]
    owner = next((part[1:-1] for part in reversed(parts) if part.startswith("{")), "")
    return literals[-1] + (f" of a {owner}" if owner else "")
