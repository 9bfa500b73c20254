"""The dashboard: the built page, from the folder that `make web` fills.

Every address that a browser opens is the page, which shows what belongs there; programs, which do
not ask for HTML, get the API.
"""

import gzip
import mimetypes
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(__file__).with_name("page")
INDEX = "index.html"
ASSETS = "/assets/"
OF_PROGRAMS = ("/api/", "/mcp", "/metrics", "/health", "/openapi.json", "/session", "/ws")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "Accept, Accept-Encoding",
}
FOR_EVER = "public, max-age=31536000, immutable"
NOT_BUILT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>codefleet</title>
<h1>The dashboard is not built</h1>
<p>Run <code>make web</code> in the clone of codefleet, then load this page again.</p>
<p>The API works without it: <a href="/openapi.json">/openapi.json</a> describes it.</p>
</html>
"""


class Page:
    """Answers browsers with the page, and leaves the rest to the API."""

    def __init__(self, app: ASGIApp, folder: Path = FOLDER) -> None:
        self._app, self._folder = app, folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_for_a_browser(scope):
            await self._answer(Request(scope))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith(ASSETS):
            return self._file(path.removeprefix("/"), request, FOR_EVER)
        if not (self._folder / INDEX).is_file():
            return Response(NOT_BUILT, 503, HEADERS, "text/html")
        return self._file(INDEX, request, "no-cache")

    def _file(self, name: str, request: Request, caching: str) -> Response:
        file = self._found(name)
        if file is None:
            return Response("there is no such file", 404, HEADERS, "text/plain")
        headers = {**HEADERS, "Cache-Control": caching}
        if is_packed := "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
        body = _contents(file, file.stat().st_mtime_ns, is_packed)
        return Response(body, 200, headers, mimetypes.guess_type(file.name)[0])

    def _found(self, name: str) -> Path | None:
        try:
            file = (self._folder / name).resolve()
            is_ours = file.is_relative_to(self._folder.resolve()) and file.is_file()
        except (OSError, ValueError):  # no file can have this name
            return None
        return file if is_ours else None


def _is_for_a_browser(scope: Scope) -> bool:
    path = scope["path"]
    if path.startswith(OF_PROGRAMS) or scope["method"] not in ("GET", "HEAD"):
        return False
    if path == "/" or path.startswith(ASSETS):
        return True
    return "text/html" in Headers(scope=scope).get("accept", "")


@lru_cache(maxsize=64)
def _contents(file: Path, changed: int, is_packed: bool) -> bytes:
    """The file as it was when it last changed."""
    found = file.read_bytes()
    return gzip.compress(found, mtime=0) if is_packed else found
