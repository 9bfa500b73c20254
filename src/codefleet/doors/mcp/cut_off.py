"""Calls that are cut off because their server was killed: the client must learn it, not wait.

A call that is answered at once gets its answer as the whole response, so that its client sees the
connection break. A call that waits gets a stream, and clients take a broken stream for one to be
resumed: they ask for what came after the last event that they got. So each stream begins with an
event whose id names its call, and whoever asks for more is told that the call is over.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, NamedTuple

from starlette.types import Message, Receive, Send

from codefleet.domain.errors import FleetError

LARGEST_BODY = 4 * 1024 * 1024
COME_BACK_MS = 5000
"""Clients try only two or three times, so not at once: the next server needs a moment."""
GONE = FleetError(
    "this call was cut off: the fleet's runner has been replaced",
    hint="repeat it if its effect is missing; a question that is asked again is the same one",
)


class Asked(NamedTuple):
    """A call of a tool."""

    id: object
    tool: str


async def peek(receive: Receive) -> tuple[Asked | None, Receive]:
    """The call in a request, if it is one, and the same request to be read again."""
    parts: list[Message] = []
    size, is_whole = 0, False
    while not is_whole and size <= LARGEST_BODY:
        parts.append(await receive())
        size += len(parts[-1].get("body", b""))
        is_whole = not parts[-1].get("more_body", False)
    body = b"".join(part.get("body", b"") for part in parts)

    async def again() -> Message:
        return parts.pop(0) if parts else await receive()

    return _read(body), again


def begun(send: Send, call: Asked) -> Send:
    """The same response; if it is a stream, it begins with an event that names the call."""

    async def naming(message: Message) -> None:
        await send(message)
        if message["type"] == "http.response.start" and _is_stream(message):
            name = urlsafe_b64encode(json.dumps(call.id).encode()).decode()
            first = f"event: begun\nid: {name}\nretry: {COME_BACK_MS}\ndata: {{}}\n\n"
            await send({"type": "http.response.body", "body": first.encode(), "more_body": True})

    return naming


def over(name: str) -> bytes:
    """The rest of the stream whose first event had this id: its call has failed."""
    try:
        call = json.loads(urlsafe_b64decode(name))
    except (ValueError, RecursionError):
        return b""
    text = json.dumps(GONE.as_dict(), ensure_ascii=False)
    result = {"content": [{"type": "text", "text": text}], "isError": True}
    answer = json.dumps({"jsonrpc": "2.0", "id": call, "result": result})
    return f"event: message\ndata: {answer}\n\n".encode()


def _read(body: bytes) -> Asked | None:
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    match said:
        case {"method": "tools/call", "id": call, "params": {"name": str(tool)}}:
            return Asked(call, tool)
    return None


def _is_stream(message: Message) -> bool:
    kinds = [value for name, value in message.get("headers", ()) if name == b"content-type"]
    return any(kind.startswith(b"text/event-stream") for kind in kinds)
