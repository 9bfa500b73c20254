"""The whole application: every operation of the table, the streams, and its own description."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from time import perf_counter

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from codefleet.api.operation import JSON
from codefleet.api.table import OPERATIONS, PREFIX
from codefleet.doors.http import openapi, sse
from codefleet.doors.http.claude_fleet.table import AUTH, HEALTH, ROUTES
from codefleet.doors.http.gate import Gate
from codefleet.doors.http.handler import Handler
from codefleet.doors.http.hub import Hub
from codefleet.doors.http.joining import Joining
from codefleet.doors.http.long_poll import WAITING, LongPoll
from codefleet.doors.http.metrics import MetricsPage
from codefleet.doors.http.problem import Unacceptable, problem, problem_with_error
from codefleet.doors.http.routes import ANY_METHOD, Routes
from codefleet.doors.http.signing_in import PATH as SESSION
from codefleet.doors.http.signing_in import SigningIn
from codefleet.doors.http.socket import Socket
from codefleet.doors.http.traffic import NOWHERE, Asked, Traffic
from codefleet.fleet import Fleet
from codefleet.fleet.measures import MetricsReader

Answer = Callable[[Request], Awaitable[Response]]
SOCKET = "/ws"


class App:
    """The server's parts, and the application made of them."""

    def __init__(
        self,
        fleet: Fleet,
        more: Mapping[str, ASGIApp] | None = None,
        *,
        public_metrics: bool = False,
    ) -> None:
        self.traffic = Traffic()
        self.gate, self.hub = Gate(fleet, self.traffic), Hub(fleet)
        self._reader = MetricsReader(fleet)
        self.metrics = MetricsPage(
            self.gate, self.hub, self.traffic, self._reader, is_public=public_metrics
        )
        self._socket = Socket(self.gate, self.hub, self.traffic)
        self._routes = Routes()
        self._add_routes()
        for path, app in (more or {}).items():
            self._routes.add(ANY_METHOD, path, app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or talk over one socket."""
        if scope["type"] == "websocket":
            await self._talk(scope, receive, send)
            return
        app, scope["path_params"], is_known = self._routes.find(scope["method"], scope["path"])
        answer = app or self._nothing(scope["method"], scope["path"], is_known=is_known)
        await answer(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read the log for streams as long as this lasts."""
        async with AsyncExitStack() as stack:
            await self.hub.start()
            stack.push_async_callback(self.hub.stop)
            stack.push_async_callback(self._reader.close)
            yield

    def _add_routes(self) -> None:
        stream, signing_in = sse.EventStream(self.gate, self.hub), SigningIn(self.gate)
        self._add("GET", "/health", "health", _health(Handler(HEALTH, self.gate)))
        self._add("GET", "/openapi.json", "openapi", _description)
        self._add("GET", SESSION, "session", signing_in.show)
        self._add("POST", SESSION, "sign_in", signing_in.open)
        self._add("DELETE", SESSION, "sign_out", signing_in.end)
        self._add("GET", "/metrics", "metrics", self.metrics.text)
        self._add("GET", "/metrics/json", "metrics_json", self.metrics.json)
        for operation in OPERATIONS:
            answer: Answer = Handler(operation, self.gate)
            if operation.name in WAITING:
                answer = LongPoll(operation, self.gate, self.hub)
            if operation.name == "events":
                answer = _either(stream, answer)
            self._add(operation.method, PREFIX + operation.path, operation.name, answer)
        self._add(AUTH.method, AUTH.path, AUTH.name, Joining(self.gate))
        for each in ROUTES:
            answer = Handler(each, self.gate, problem_with_error)
            path = each.path.replace("{key}", "{key:path}")  # a key may have slashes
            self._add(each.method, path, each.name, answer)

    def _add(self, method: str, path: str, name: str, answer: Answer) -> None:
        """Answer at a path, counted under a name."""
        asked = Asked(method, name)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            began = perf_counter()
            response = await answer(Request(scope, receive))
            self.traffic.note(asked, response.status_code, perf_counter() - began)
            await response(scope, receive, send)

        self._routes.add(method, path, app)

    def _nothing(self, method: str, path: str, *, is_known: bool) -> Response:
        """There is nothing here, or not with this method."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if is_known else HTTPStatus.NOT_FOUND
        self.traffic.note(NOWHERE, status, 0.0)
        return problem(
            Unacceptable(
                status,
                f"{method} {path[:200]}: {status.phrase.lower()}",
                hint="/openapi.json lists every operation",
            )
        )

    async def _talk(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        await (self._socket(socket) if scope["path"] == SOCKET else socket.close())


def _either(stream: sse.EventStream, page: Answer) -> Answer:
    async def answer(request: Request) -> Response:
        return await (stream(request) if sse.is_wanted(request) else page(request))

    return answer


def _health(report: Answer) -> Answer:
    """Is the server alive? Anybody may ask; only who has a token gets the whole report."""

    async def answer(request: Request) -> Response:
        if "authorization" in request.headers:
            return await report(request)
        return Response(b'{"status":"ok"}', media_type=JSON)

    return answer


async def _description(request: Request) -> Response:
    return Response(_described(), media_type=JSON)


@cache
def _described() -> bytes:
    return msgspec.json.encode(openapi.description(version("codefleet")))
