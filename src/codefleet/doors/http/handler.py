"""One operation of the API as a handler: read the request, call the verb, write the answer."""

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any, ClassVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from codefleet.api.operation import JSON, Operation
from codefleet.domain.errors import AlreadyDone, FleetError, Invalid, NotFound, Refused
from codefleet.domain.model import Task
from codefleet.doors.http.gate import Gate
from codefleet.doors.http.problem import Report, Unacceptable, problem
from codefleet.fleet import Fleet
from codefleet.runner.crash_log import record
from codefleet.runner.paths import Paths

LARGEST_BODY = 16 * 1024 * 1024
LONGEST_KEY = 255
ANYTHING = "*"
"""An If-Match that is true of whatever there is."""


class Handler:
    """Answers the requests for one operation."""

    largest_body: ClassVar[int] = LARGEST_BODY

    def __init__(self, operation: Operation, gate: Gate, problem: Report = problem) -> None:
        self.operation, self._gate, self._problem = operation, gate, problem

    async def __call__(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except FleetError as refused:
            return self._problem(refused)
        except Exception as surprise:
            return self._problem(self._unexpected(request, surprise))

    async def _answer(self, request: Request) -> Response:
        fleet = self._seen_by(await self._fleet(request), request.headers)
        body = await read_body(request, self.largest_body)
        said = self._said(request, body)
        given = self.operation.read(said, strict=request.method != "GET")
        if self.operation.is_stream:
            lines = await _begun(_lines(self._told(fleet, given)))
            return StreamingResponse(lines, media_type=self.operation.media)
        return self._written(await self._done(fleet, given, request, body))

    async def _fleet(self, request: Request) -> Fleet:
        """The fleet for whoever asks."""
        return await self._gate.fleet(request.headers)

    def _seen_by(self, fleet: Fleet, headers: Mapping[str, str]) -> Fleet:
        """The fleet that changes only what the caller has seen, if it says what that is."""
        tag = headers.get("if-match", ANYTHING).strip()
        if tag == ANYTHING:
            return fleet
        if not self.operation.changes_a_task:
            raise Invalid(
                "If-Match is only for requests that change one task",
                hint="leave it out: this request has no version to compare",
            )
        version = tag.strip('"')
        if not (version.isascii() and version.isdecimal() and len(version) < 16):
            raise Invalid("If-Match: this is not an ETag of ours", hint="pass the ETag unchanged")
        return fleet.expecting(int(version))

    def _told(self, fleet: Fleet, given: Mapping[str, Any]) -> AsyncIterator[Any]:
        """What the verb yields."""
        told: AsyncIterator[Any] = self.operation.verb(fleet, **given)
        return told

    def _said(self, request: Request, body: bytes) -> dict[str, Any]:
        """All arguments that the request states."""
        operation, in_path = self.operation, dict(request.path_params)
        if request.method == "GET":
            return {**self._asked(request), **in_path}
        sent = parsed(request, body)
        if operation.body:
            return {operation.body: sent, **in_path}
        if not isinstance(sent, dict):
            raise Invalid(
                "the body must be a JSON object", hint="send {} if there is nothing to say"
            )
        return {**sent, **in_path}

    def _asked(self, request: Request) -> dict[str, Any]:
        query = request.query_params
        return {
            name: query.getlist(name) if name in self.operation.lists else query[name]
            for name in query
        }

    async def _done(
        self, fleet: Fleet, given: Mapping[str, Any], request: Request, body: bytes
    ) -> Any:
        """Carry the request out, or tell what it did if it was made before with the same key."""
        key = request.headers.get("idempotency-key")
        if key is not None and self.operation.refuses_keys:
            raise Invalid(
                "this request is carried out each time, whatever its Idempotency-Key",
                hint="leave out the key, and look at what there is before you repeat the request",
            )
        if key is None or not self.operation.creates:
            return await self.operation.verb(fleet, **given)
        if not 0 < len(key) <= LONGEST_KEY:
            raise Invalid(
                "this key is empty or too long", hint=f"use 1 to {LONGEST_KEY} characters"
            )
        asked = f"{request.method} {request.url.path}\n".encode() + body
        once, made = await fleet.once(key, asked)
        if made:
            return await self._again(fleet, made)
        try:
            return await self.operation.verb(once, **given)
        except AlreadyDone as done:
            return await self._again(fleet, done.made)
        except FleetError:  # perhaps because the same request was carried out meanwhile
            _, made = await fleet.once(key, asked)
            if not made:
                raise
            return await self._again(fleet, made)

    async def _again(self, fleet: Fleet, made: Any) -> Any:
        """What an earlier request created, if the caller can still see all of it."""
        assert self.operation.again, self.operation.name
        try:
            return await self.operation.again(fleet, made)
        except NotFound:
            raise Refused(
                "this request was made before, and you can no longer see what it created",
                hint="use a new Idempotency-Key to create it again",
            ) from None

    def _written(self, result: Any) -> Response:
        if self.operation.media != JSON:
            return Response(result, media_type=self.operation.media)
        if self.operation.answer is type(None):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        headers = {"ETag": f'"{result.version}"'} if isinstance(result, Task) else None
        text = msgspec.json.encode(result)
        return Response(text, self.operation.status, headers, JSON)

    def _unexpected(self, request: Request, surprise: Exception) -> FleetError:
        log = Paths(self._gate.home).crash_log()
        record(log, f"{request.method} {request.url.path}", surprise)
        return FleetError(
            "an unexpected error occurred", hint="this is a bug in codefleet; see the server's log"
        )


async def read_body(request: Request, largest: int = LARGEST_BODY) -> bytes:
    """The whole body, unless it is too large or does not arrive."""
    announced = request.headers.get("content-length", "")
    if not announced and "transfer-encoding" not in request.headers:
        return b""
    if announced.isdecimal() and int(announced) > largest:
        raise _too_large(largest)
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > largest:
                raise _too_large(largest)
    except ClientDisconnect:
        raise Unacceptable(
            HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time", hint="send it again"
        ) from None
    return bytes(body)


def _too_large(largest: int) -> Unacceptable:
    megabytes, kilobytes = largest // 1024 // 1024, largest // 1024
    most = f"{megabytes} MB" if megabytes else f"{kilobytes} KB"
    return Unacceptable(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"this request may have at most {most}",
        hint="send less at a time",
    )


def parsed(request: Request, body: bytes) -> Any:
    """The JSON of a body. No web page can send this type without asking us first."""
    if not body:
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Unacceptable(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "the body must be JSON",
            hint=f"send the header `Content-Type: {JSON}`",
        )
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise Invalid(f"the body is not JSON: {wrong}", hint="send valid JSON") from None


async def _begun(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same lines after the first was read: a refusal comes before the answer begins."""
    first = await anext(lines, None)

    async def all_of_them() -> AsyncIterator[bytes]:
        if first is not None:
            yield first
            async for line in lines:
                yield line

    return all_of_them()


async def _lines(told: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    """One JSON document per line; an export already is text."""
    async for each in told:
        yield (each.encode() if isinstance(each, str) else msgspec.json.encode(each)) + b"\n"
