"""The log as server-sent events. A client that reconnects says the last one it got."""

from collections.abc import AsyncIterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from codefleet.domain.errors import FleetError, Invalid
from codefleet.domain.validation import unknown_field
from codefleet.doors.http.gate import Gate
from codefleet.doors.http.hub import Hub
from codefleet.doors.http.problem import problem
from codefleet.doors.http.stream import Frame, Gap, Stream, Wanted
from codefleet.fleet import Fleet

MEDIA = "text/event-stream"
PARAMETERS = ("after", "task", "run", "kinds", "team")
ALIVE = b": alive\n\n"
GOODBYE = b"event: drain\ndata: {}\n\n"


def is_wanted(request: Request) -> bool:
    """Does the client ask for a stream?"""
    return MEDIA in request.headers.get("accept", "")


class EventStream:
    """Answers with the log from a seq on, and with each event as it happens."""

    def __init__(self, gate: Gate, hub: Hub) -> None:
        self._gate, self._hub = gate, hub

    async def __call__(self, request: Request) -> Response:
        try:
            fleet = await self._gate.fleet(request.headers)
            _refuse_unknown(request)
            after = _last_seen(request)
            if after is None:
                after = await fleet.last_seq()
            wanted = await _wanted(request, fleet)
        except FleetError as refused:
            return problem(refused)
        stream = await self._hub.open(fleet, wanted, after)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._sent(stream), headers=headers, media_type=MEDIA)

    async def _sent(self, stream: Stream) -> AsyncIterator[bytes]:
        try:
            async for parts in stream.parts():
                yield b"".join(map(_written, parts)) or ALIVE
            if not stream.guest.refused.is_set():  # else it need not come back
                yield GOODBYE
        finally:
            await self._hub.close(stream)


def _refuse_unknown(request: Request) -> None:
    for name in request.query_params:
        if name not in PARAMETERS:
            wrong, hint = unknown_field(name, PARAMETERS)
            raise Invalid(wrong, hint=hint)


async def _wanted(request: Request, fleet: Fleet) -> Wanted:
    query = request.query_params
    ref = query.get("task")
    task = (await fleet.get(ref)).id if ref else None
    team = query.get("team")
    if team is not None:
        await fleet.team(team)  # it must exist
    return Wanted(task, query.get("run"), query.getlist("kinds"), team)


def _written(part: Frame | Gap) -> bytes:
    if isinstance(part, Gap):
        told = msgspec.json.encode({"after": part.after, "until": part.until})
        return b"id: %d\nevent: gap\ndata: %b\n\n" % (part.until, told)
    return part.sse


def _last_seen(request: Request) -> int | None:
    """The seq after which the client wants the log; None for now."""
    given: Sequence[str | None] = (
        request.headers.get("last-event-id"),
        request.query_params.get("after"),
    )
    said = next((each for each in given if each), None)
    if said is None:
        return None
    if not (said.isascii() and said.isdecimal() and len(said) < 16):
        raise Invalid(f"{said[:80]!r} is not a seq", hint="pass the id of the last event unchanged")
    return int(said)
