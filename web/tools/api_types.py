"""Write the page's types from the server's own description of its API.

The first line of the result has a hash of that description, so that a test can tell without Node
whether the types are out of date.
"""

from hashlib import sha256
from typing import Any

import msgspec

from codefleet.doors.http import openapi
from codefleet.doors.http.sse import MEDIA as STREAM
from web.tools import node

FILE = node.WEB / "src/api/schema.ts"
HEAD = "// Written by `make web-types` from the API's description; do not edit. {digest}\n"
KEPT = ("/api/v1/", "/session", "/auth")


def wanted() -> bytes:
    """The part of the description that the page uses."""
    told = openapi.description("")
    paths = {path: about for path, about in told["paths"].items() if path.startswith(KEPT)}
    for operation in (each for about in paths.values() for each in about.values()):
        operation["responses"] = _good(operation["responses"])
    schemas = told["components"]["schemas"]
    used = openapi.named_in([paths], schemas, {"Problem"})
    kept = {name: shape for name, shape in schemas.items() if name in used}
    told |= {"paths": paths, "components": {"schemas": kept}}
    return msgspec.json.encode(told, order="sorted")


def _good(responses: dict[str, Any]) -> dict[str, Any]:
    """Errors are alike everywhere: all are a `Problem`. Events come over the socket."""
    good = {status: about for status, about in responses.items() if status.startswith("2")}
    for about in good.values():
        about.get("content", {}).pop(STREAM, None)
    return good


def head() -> str:
    """The first line of the types that fit the API."""
    return HEAD.format(digest=sha256(wanted()).hexdigest())


def write() -> None:
    """Write the types."""
    with node.alone():
        node.install()
    description = node.WEB / "node_modules" / ".openapi.json"
    description.write_bytes(wanted())
    options = (
        "--default-non-nullable=false",
        "--empty-objects-unknown",
        "--root-types",
        "--root-types-no-schema-prefix",
    )
    body = node.run("openapi-typescript", str(description), *options).decode()
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(head() + body)


if __name__ == "__main__":
    write()
