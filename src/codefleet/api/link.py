"""A line to a server: ask for an operation, get its answer or its error as if it were here."""

import asyncio
import http.client
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, quote, urlencode, urlsplit
from uuid import uuid4

import msgspec

from codefleet.api.operation import JSON, Operation
from codefleet.api.table import PREFIX
from codefleet.domain import errors
from codefleet.domain.errors import FleetError, Invalid, NotFound, Unauthenticated, Unreachable

PATIENCE_S = 60.0
"""How much longer than the server itself we wait for an answer that takes its time."""
KEY = "Idempotency-Key"
BROKEN = (OSError, http.client.HTTPException)
T = TypeVar("T")
Line = http.client.HTTPConnection
PART = 1 << 16


class Request(NamedTuple):
    """What is sent. One that can be repeated changes nothing, or carries a key."""

    method: str
    path: str
    body: bytes | None
    headers: Mapping[str, str]
    can_be_repeated: bool
    patience: float


class Link:
    """Requests to one server with one token. Connections are kept open and used again."""

    def __init__(self, url: str, token: str) -> None:
        parts, self._host, self._port = _place(url)
        if not token.isascii() or not token.isprintable():
            raise Unauthenticated(
                "this is no token: it has several lines, or characters that no token has",
                hint=f"pass the token alone to `fleet login {url}`, or in FLEET_TOKEN",
            )
        self.url = url.rstrip("/")
        self._secure = parts.scheme == "https"
        self._root, self._token = parts.path.rstrip("/") + PREFIX, token
        self._idle: list[Line] = []
        self._headers: dict[str, str] = {}

    def with_headers(self, **headers: str) -> "Link":
        """The same line for requests with more headers."""
        other = Link(self.url, self._token)
        other._idle, other._headers = self._idle, {**self._headers, **headers}
        return other

    async def ask(self, operation: Operation, given: Mapping[str, Any]) -> Any:
        """The answer to one request."""
        text = await asyncio.to_thread(self._answer, operation, given)
        if operation.media != JSON:
            return text.decode(errors="replace")
        return msgspec.json.decode(text, type=operation.answer) if text else None

    async def lines(self, operation: Operation, given: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """The lines of a long answer, as they come; an error if its end is missing."""
        request = self._request(operation, given)
        line, answer = await asyncio.to_thread(self._sent, request, lambda answer: answer)
        rest = b""
        try:
            while part := await asyncio.to_thread(self._part, answer):
                *whole, rest = (rest + part).split(b"\n")
                for text in whole:
                    yield text
        finally:
            line.close()
        if rest:
            raise self._cut("its last line is not whole")

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _answer(self, operation: Operation, given: Mapping[str, Any]) -> bytes:
        request = self._request(operation, given)
        line, text = self._sent(request, lambda answer: answer.read())
        self._idle.append(line)
        return text

    def _part(self, answer: http.client.HTTPResponse) -> bytes:
        """What has come of a long answer; nothing at its end, which `readline` would not check."""
        try:
            part = answer.read1(PART)
        except BROKEN as why:
            raise self._cut(_reason(why)) from None
        if not part and answer.length:
            raise self._cut("its end is missing")
        return part

    def _sent(
        self, request: Request, take: Callable[[http.client.HTTPResponse], T]
    ) -> tuple[Line, T]:
        """What we take of the answer to a request; an error is raised."""
        for line in self._lines(request):
            is_sent = False
            try:
                if line.sock is None:
                    line.connect()
                is_sent = True
                line.request(request.method, request.path, request.body, dict(request.headers))
                answer = line.getresponse()
                if answer.status // 100 == 2:
                    return line, take(answer)
                text = answer.read()
            except BROKEN as why:
                line.close()
                trouble = self._unreachable(why, may_be_done=is_sent and request.method != "GET")
                continue
            self._idle.append(line)
            raise self._refusal(text, answer.status)
        raise trouble

    def _lines(self, request: Request) -> Iterator[Line]:
        """A connection that was kept, which the server may have closed; then a new one.

        What cannot be repeated goes over a new one only: if an old one breaks, nobody can tell
        whether the request has arrived.
        """
        with suppress(IndexError):
            kept = self._idle.pop()
            if request.can_be_repeated:
                if kept.sock:
                    kept.sock.settimeout(request.patience)
                yield kept
            kept.close()
        if self._secure:
            context = ssl.create_default_context()
            yield http.client.HTTPSConnection(
                self._host, self._port, timeout=request.patience, context=context
            )
        else:
            yield Line(self._host, self._port, timeout=request.patience)

    def _request(self, operation: Operation, given: Mapping[str, Any]) -> Request:
        path, body = self._written(operation, given)
        key = {KEY: str(uuid4())} if operation.creates else {}
        return Request(
            *(operation.method, path, body, {**key, **self._all_headers(body)}),
            can_be_repeated=operation.method == "GET" or operation.creates,
            patience=float(given.get("within", 0.0)) + PATIENCE_S,
        )

    def _written(self, operation: Operation, given: Mapping[str, Any]) -> tuple[str, bytes | None]:
        """The path with its query, and the body."""
        plain = {name: msgspec.to_builtins(value) for name, value in given.items()}
        parts = {name: quote(str(plain.pop(name)), safe="") for name in operation.in_path}
        for name in (name for name, value in parts.items() if not value):
            raise NotFound(f"the {name} is empty", hint="say which one you mean")
        path = self._root + operation.path.format(**parts)
        if operation.method == "GET":
            asked = {name: _as_text(value) for name, value in plain.items() if value is not None}
            return (f"{path}?{urlencode(asked, doseq=True)}" if asked else path), None
        body = plain[operation.body] if operation.body else plain
        return path, msgspec.json.encode(body)

    def _all_headers(self, body: bytes | None) -> dict[str, str]:
        kind = {"Content-Type": JSON} if body is not None else {}
        return {"Authorization": f"Bearer {self._token}", **kind, **self._headers}

    def _unreachable(self, why: Exception, *, may_be_done: bool) -> Unreachable:
        if may_be_done:
            return Unreachable(
                f"the server at {self.url} broke off before it answered: {_reason(why)}; "
                "what you asked for may have been done",
                hint="look before you ask again, for instance with `fleet log`",
            )
        return Unreachable(
            f"the server at {self.url} does not answer: {_reason(why)}",
            hint="is it running there? `fleet serve --status` on that machine tells",
        )

    def _refusal(self, text: bytes, status: int) -> FleetError:
        """The server's error; it knows the headers of HTTP, but not how we send a token."""
        error = _error(text, status)
        if isinstance(error, Unauthenticated):
            error.hint = f"`fleet login {self.url}` keeps another token, or set FLEET_TOKEN"
        return error

    def _cut(self, why: str) -> Unreachable:
        return Unreachable(
            f"the server at {self.url} broke off in the middle of its answer: {why}",
            hint="ask again; what came so far is not the whole",
        )


def _place(url: str) -> tuple[SplitResult, str, int | None]:
    """The parts of an address, with its host and port."""
    try:
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise Invalid(
                "the address of a server has no name and no password in it",
                hint="use http://HOST:PORT; `fleet login` keeps a token",
            )
        is_plain = url.isprintable() and " " not in url
        if parts.scheme in ("http", "https") and parts.hostname and is_plain:
            return parts, parts.hostname, parts.port
    except ValueError:
        pass
    raise Invalid(f"{url[:80]!r} is not the address of a server", hint="http://HOST:PORT")


def _reason(why: Exception) -> str:
    if isinstance(why, http.client.IncompleteRead):
        return "its end is missing"
    return getattr(why, "strerror", None) or str(why) or type(why).__name__


def _as_text(value: Any) -> Any:
    """A value as a query writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return [_as_text(each) for each in value] if isinstance(value, list | tuple) else value


def _error(text: bytes, status: int) -> FleetError:
    """The error that the server met, as the class that it is."""
    try:
        told = msgspec.json.decode(text, type=dict[str, Any])
        code, problem, hint = str(told["code"]), str(told["detail"]), str(told["hint"])
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError):
        return Unreachable(
            f"the server answered with {status} and no reason", hint="is it a codefleet server?"
        )
    kind = next((each for each in _kinds(FleetError) if each.code == code), FleetError)
    found = FleetError.__new__(kind)
    FleetError.__init__(found, problem, hint=hint)
    return found


def _kinds(root: type[FleetError]) -> Iterator[type[FleetError]]:
    for kind in root.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
        yield from _kinds(kind)
