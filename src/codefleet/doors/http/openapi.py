"""The description of the API in OpenAPI 3.1, generated from the same types that it is read with."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from codefleet.api.operation import JSON, Operation
from codefleet.api.table import OPERATIONS, PREFIX
from codefleet.domain.model import Task
from codefleet.doors.http import problem
from codefleet.doors.http.claude_fleet.table import AUTH, ROUTES, SYSTEM
from codefleet.doors.http.problem import Problem
from codefleet.doors.http.signing_in import PATH as SESSION
from codefleet.doors.http.signing_in import SignIn, Visitor
from codefleet.doors.http.sse import MEDIA as STREAM

REF = "#/components/schemas/{name}"
ERRORS = {
    "400": "The request is not valid HTTP.",
    "401": "There is no valid token.",
    "403": "The token may not do this.",
    "404": "There is no such thing.",
    "408": "The body did not arrive in time.",
    "409": "It is valid, but not possible now.",
    "412": "It has changed since you read it.",
    "413": "The request is too large.",
    "415": "The body is not JSON.",
    "421": "The server does not answer to this host name.",
    "422": "Something in the request is wrong.",
    "429": "There were too many wrong secrets from your address.",
    "500": "Git, a program or the server failed.",
    "503": "The store or a remote cannot be reached now.",
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Your name for this request: sent again with the same name, it creates nothing "
    "twice, and you get what it created the first time.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag of the task as you have read it: if it has changed since, nothing "
    "happens.",
    "schema": {"type": "string", "pattern": r'^(\*|"?[0-9]{1,15}"?)$'},
}
TAG = {"description": "Its version, for If-Match.", "schema": {"type": "string"}}


def description(version: str) -> dict[str, Any]:
    """The whole document."""
    everything = (*OPERATIONS, AUTH, *ROUTES)
    answers = [Problem, Visitor, *(each.answer for each in everything)]
    kinds = [*answers, SignIn, *(each.inputs for each in everything)]
    shapes, components = msgspec.json.schema_components(kinds, ref_template=REF)
    _always_whole(components, asked=shapes[len(answers) :])
    known = dict(zip(map(str, kinds), shapes, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        place = paths.setdefault(PREFIX + operation.path, {})
        place[operation.method.lower()] = _described(operation, known, components)
    for operation in (AUTH, *ROUTES):
        told = _described(operation, known, components)
        paths.setdefault(operation.path, {})[operation.method.lower()] = {**told, "tags": [SYSTEM]}
    paths[AUTH.path][AUTH.method.lower()] |= {"security": []}
    paths[SESSION] = _session()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "codefleet",
            "version": version,
            "summary": "A fleet of AI coding agents",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _always_whole(components: Mapping[str, Any], asked: Sequence[Any]) -> None:
    """Of what is only in answers, every field is always there, also those with a default."""
    may_be_partial = named_in(asked, components, set())
    for name, shape in components.items():
        if name not in may_be_partial and "properties" in shape:
            there = shape.get("required", ())
            fields = shape["properties"].items()
            shape["required"] = [it for it, about in fields if it in there or "default" in about]


def named_in(shape: Any, components: Mapping[str, Any], seen: set[str]) -> set[str]:
    """The components that a schema refers to, directly or through others."""
    if isinstance(shape, Mapping):
        name = str(shape.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            seen.add(name)
            named_in(components[name], components, seen)
        shape = list(shape.values())
    if isinstance(shape, Sequence) and not isinstance(shape, str):
        for each in shape:
            named_in(each, components, seen)
    return seen


def _session() -> dict[str, Any]:
    """The session of a browser: not a verb, so it is described by hand."""
    visitor = {JSON: {"schema": {"$ref": REF.format(name="Visitor")}}}
    who = {"200": {"description": "Done.", "content": visitor}, **_errors()}
    gone = {"204": {"description": "Done."}, **_errors()}
    said = {JSON: {"schema": {"$ref": REF.format(name="SignIn")}}}
    return {
        "get": {"operationId": "session", "summary": "Who has the session.", "responses": who},
        "post": {
            "operationId": "sign_in",
            "summary": "Exchange a code or a token for a session, which a cookie keeps.",
            "requestBody": {"required": True, "content": said},
            "responses": who,
            "security": [],
        },
        "delete": {
            "operationId": "sign_out",
            "summary": "Let the browser forget its session.",
            "responses": gone,
            "security": [],
        },
    }


def _described(
    operation: Operation, known: Mapping[str, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _parameters(operation, components),
        "responses": _responses(operation, known),
    }
    if body := _body(operation, known, components):
        told["requestBody"] = body
    return told


def _parameters(operation: Operation, components: Mapping[str, Any]) -> list[Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in operation.in_path
    ]
    if operation.method == "GET":
        return [*in_path, *_in_query(operation, components)]
    if operation.creates:
        return [*in_path, KEY]
    return [*in_path, MATCH] if operation.changes_a_task else in_path


def _in_query(operation: Operation, components: Mapping[str, Any]) -> Sequence[Any]:
    shape = components.get(operation.inputs.__name__, {})
    return [
        {
            "name": name,
            "in": "query",
            "required": name in shape.get("required", ()),
            "schema": _given(schema),
        }
        for name, schema in shape.get("properties", {}).items()
    ]


def _given(schema: Mapping[str, Any]) -> Any:
    """The schema of a parameter: what may be absent is left out rather than null."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return choices[0] if len(choices) == 1 else schema


def _body(
    operation: Operation, known: Mapping[str, Any], components: Mapping[str, Any]
) -> dict[str, Any] | None:
    shape = components.get(operation.inputs.__name__, {})
    if operation.method == "GET" or not shape.get("properties"):
        return None
    schema = shape["properties"][operation.body] if operation.body else known[str(operation.inputs)]
    required = bool(shape.get("required"))
    return {"required": required, "content": {JSON: {"schema": schema}}}


def _responses(operation: Operation, known: Mapping[str, Any]) -> dict[str, Any]:
    shape = known[str(operation.answer)]
    media = operation.media.partition(";")[0]
    content: dict[str, Any] = {media: {"schema": shape if media == JSON else {"type": "string"}}}
    if operation.name == "events":
        content[STREAM] = {"schema": {"type": "string"}}
    good: dict[str, Any] = {"description": "Done.", "content": content}
    if operation.answer is Task:
        good["headers"] = {"ETag": TAG}
    if operation.answer is type(None):
        return {"204": {"description": "Done."}, **_errors()}
    return {str(operation.status): good, **_errors()}


def _errors() -> dict[str, Any]:
    shape = {"schema": {"$ref": REF.format(name="Problem")}}
    return {
        code: {"description": why, "content": {problem.MEDIA: shape}}
        for code, why in ERRORS.items()
    }
