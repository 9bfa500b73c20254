"""The dashboard as the server gives it to browsers."""

from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from codefleet.doors.http.page import Page
from web.tools import api_types

HTML = {"Accept": "text/html,application/xhtml+xml"}


async def _api(request: object) -> PlainTextResponse:
    return PlainTextResponse("the API")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>the page")
    (tmp_path / "assets/app-1a2b.js").write_text("1")
    (tmp_path.parent / "secret").write_text("not for browsers")
    return tmp_path


def client(folder: Path) -> httpx2.AsyncClient:
    api = Starlette(routes=[Route("/{path:path}", _api)])
    transport = httpx2.ASGITransport(Page(api, folder))
    return httpx2.AsyncClient(transport=transport, base_url="http://fleet")


async def test_every_address_that_a_browser_opens_is_the_page(folder: Path) -> None:
    async with client(folder) as browser:
        for path in ("/", "/board", "/task/abc", "/swarms"):
            shown = await browser.get(path, headers=HTML)
            assert shown.text == "<!doctype html>the page", path
            assert "script-src 'self'" in shown.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
            assert shown.headers["x-content-type-options"] == "nosniff"
            assert shown.headers["cache-control"] == "no-cache"


async def test_programs_get_the_api(folder: Path) -> None:
    async with client(folder) as program:
        assert (await program.get("/swarms")).text == "the API"
        assert (await program.get("/api/v1/status", headers=HTML)).text == "the API"
        assert (await program.post("/tasks", headers=HTML)).status_code == 405


async def test_a_file_with_a_hash_in_its_name_is_kept_for_ever(folder: Path) -> None:
    async with client(folder) as browser:
        found = await browser.get("/assets/app-1a2b.js")
        assert found.text == "1"
        assert "immutable" in found.headers["cache-control"]
        assert found.headers["content-encoding"] == "gzip"
        for name in ("other.js", "%00", "a" * 3000, "%ff", "..%2f..%2fsecret"):
            assert (await browser.get(f"/assets/{name}")).status_code == 404, name
        assert (await browser.get("/assets/%2e%2e/%2e%2e/secret")).status_code == 404


async def test_a_page_that_is_not_built_says_how(tmp_path: Path) -> None:
    async with client(tmp_path / "nothing") as browser:
        told = await browser.get("/")
        assert told.status_code == 503
        assert "make web" in told.text


def test_the_types_of_the_page_fit_the_api() -> None:
    with api_types.FILE.open() as file:
        assert file.readline() == api_types.head(), "run `make web-types`"
