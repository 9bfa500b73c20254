"""The HTTP side of the model server: a thread per request, on the loopback interface only."""

import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from codefleet.testing.model_server import tools
from codefleet.testing.model_server.anthropic import Anthropic
from codefleet.testing.model_server.chat import Chat
from codefleet.testing.model_server.dialect import Answer, Dialect, Frame, Json, Usage
from codefleet.testing.model_server.gemini import Gemini
from codefleet.testing.model_server.responses import Responses
from codefleet.testing.model_server.script import BadScript, Place, Refusal, Step, find

DIALECTS: Sequence[Dialect] = (Anthropic(), Responses(), Chat(), Gemini())
NAMED = "/scripts/"
STILL_HERE_S = 1.0


@dataclass
class Request:
    """A request that came: its path, its JSON, and what was wrong with it, if anything."""

    path: str
    body: Json
    problem: str = ""


class ModelServer:
    """Answers agent programs as their scripts say, for as long as the `with` block lasts."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Request] = []
        self._scripts: dict[str, str] = {}
        self._refused: Counter[Place] = Counter()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Server(("127.0.0.1", port), self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def script(self, name: str, *steps: Mapping[str, Any]) -> str:
        """Set a script apart from any prompt; whoever uses the returned address follows it."""
        self._scripts[name] = json.dumps(steps)
        return f"{self.url}{NAMED}{name}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Answer nobody any more: from now on connections are refused."""
        if not self._closing.is_set():
            self._closing.set()
            self._http.shutdown()
            self._http.server_close()

    def named(self, path: str) -> str | None:
        """The script that belongs to this path."""
        name, _, _ = path.removeprefix(NAMED).partition("/")
        return self._scripts.get(name) if path.startswith(NAMED) else None

    def refuses(self, place: Place, refusal: Refusal | None) -> bool:
        """Is it still time to refuse? Counted, because programs try again by themselves."""
        with self._lock:
            self._refused[place] += 1
            return refusal is not None and self._refused[place] <= (refusal.times or 1 << 30)

    def rest(self, seconds: float) -> bool:
        """Wait so long, or until the server closes, which is False."""
        return not self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], models: ModelServer) -> None:
        self.models = models
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A program that was killed leaves its connection broken: nothing to tell anybody."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are kept in `ModelServer.requests`; nothing is printed."""

    def do_GET(self) -> None:
        """Programs may look who is there, or which models; an empty list is good enough."""
        self._send(200, {"data": [], "models": []})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        request = Request(path, self._body())
        self.server.models.requests.append(request)
        dialect = next((dialect for dialect in DIALECTS if dialect.speaks(path)), None)
        if dialect is None:
            self._send(404, {"error": {"message": f"no model answers at {path}"}})
            return
        try:
            self._answer(dialect, request)
        except BadScript as wrong:
            self._complain(dialect, request, f"bad script: {wrong}")
        except KeyError as missing:
            self._complain(dialect, request, f"the request has no {missing}")

    def _body(self) -> Json:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _complain(self, dialect: Dialect, request: Request, problem: str) -> None:
        request.problem = problem
        self._refuse(dialect, Refusal(400, problem))

    def _answer(self, dialect: Dialect, request: Request) -> None:
        models, body = self.server.models, request.body
        place = find(dialect.conversation(body), models.named(request.path))
        step = place.step()
        if step.delay and not models.rest(step.delay):
            return
        if step.limit is not None:
            self._refuse(dialect, dialect.used_up(time.time() + step.limit, step.limit))
        elif step.error and models.refuses(place, step.error):
            self._refuse(dialect, step.error)
        elif dialect.streams(request.path, body):
            self._stream(dialect.stream(body, _answer(step, dialect.tools(body))), step)
        elif step.hang:
            self._hang("", silent=True)
        else:
            whole = dialect.whole(body, _answer(step, dialect.tools(body)))
            self._send(200, whole, step.headers, cut=step.cut)

    def _refuse(self, dialect: Dialect, refusal: Refusal) -> None:
        body = refusal.body if refusal.body is not None else dialect.refuse(refusal)
        self._send(refusal.status, body, refusal.headers)

    def _send(
        self,
        status: int,
        body: Any,
        headers: Mapping[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        raw = json.dumps(body).encode()
        length = {"content-type": "application/json", "content-length": str(len(raw))}
        self._head(status, {**length, **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(raw[: len(raw) // 2] if cut else raw)
        self.close_connection = self.close_connection or cut

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def _stream(self, frames: Iterable[Frame], step: Step) -> None:
        """Server-sent events in HTTP chunks, so that a cut can be told from an end."""
        pieces = [_event(frame) for frame in frames]
        streamed = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        self._head(200, {**streamed, **(step.headers or {})})
        if step.hang:
            self._hang(pieces[0], silent=step.hang == "silent")
            return
        for piece in pieces[: len(pieces) // 2] if step.cut else pieces:
            self._chunk(piece)
            if step.drip and not self.server.models.rest(step.drip):
                return
        if step.cut:
            self.close_connection = True
        else:
            self._chunk("")

    def _hang(self, first: str, *, silent: bool) -> None:
        """Begin, and never get on; it ends when the program goes away or the server closes."""
        self.close_connection = True
        if first:
            self._chunk(first)
        while self.server.models.rest(STILL_HERE_S):
            if not silent:
                self._chunk(": still here\n\n")

    def _chunk(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
        self.wfile.flush()


def _answer(step: Step, offered: Mapping[str, Json]) -> Answer:
    """What a step amounts to for a program with these tools.

    A request without tools is one on the side, for a title or a summary: words will do.
    """
    calls = tools.calls(step.actions, offered) if offered else ()
    text = step.text or ("" if calls else "OK")
    return Answer(text, step.think, calls, Usage(**(step.usage or {})), step.stop)


def _event(frame: Frame) -> str:
    data = frame.data if isinstance(frame.data, str) else json.dumps(frame.data)
    named = f"event: {frame.event}\n" if frame.event else ""
    return f"{named}data: {data}\n\n"
