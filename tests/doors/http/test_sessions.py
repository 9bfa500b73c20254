"""The session of a browser: how it begins, what it may do, when it ends."""

import asyncio
import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import httpx2
import websockets

from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from tests.doors.http.conftest import API, Served


def browser(served: Served) -> httpx2.AsyncClient:
    """A client that keeps cookies, as our page has it."""
    return httpx2.AsyncClient(base_url=served.url, headers={"Origin": served.url})


async def test_a_code_signs_the_owner_in_once(served: Served, fleet: Fleet) -> None:
    code = await fleet.sign_in_code()
    async with browser(served) as page, browser(served) as other:
        told = await page.post("/session", json={"code": code})
        assert told.json()["name"] == "owner"
        kept = told.headers["set-cookie"]
        assert "HttpOnly" in kept
        assert "SameSite=strict" in kept
        assert (await page.get(f"{API}/status")).status_code == 200
        assert (await other.post("/session", json={"code": code})).status_code == 401
        assert (await other.get(f"{API}/status")).status_code == 401


async def test_a_new_code_leaves_one_alone_that_is_being_created(fleet: Fleet, home: Path) -> None:
    await fleet.sign_in_code()
    draft = home / "keys" / "sign-in" / ".draft"
    draft.touch()
    await fleet.sign_in_code()
    assert draft.exists()


async def test_of_many_guesses_at_once_only_five_are_tried(served: Served) -> None:
    async with browser(served) as guesser:
        tries = [guesser.post("/session", json={"code": f"x{n}"}) for n in range(50)]
        told = Counter(answer.status_code for answer in await asyncio.gather(*tries))
    assert told == {401: 5, 429: 45}


async def test_signing_out_lets_the_browser_forget(served: Served, fleet: Fleet) -> None:
    async with browser(served) as page:
        await page.post("/session", json={"code": await fleet.sign_in_code()})
        await page.delete("/session")
        assert (await page.get("/session")).status_code == 401


async def test_the_session_of_a_revoked_token_is_refused(served: Served, fleet: Fleet) -> None:
    await fleet.create_team("shop")
    token, text = await fleet.create_token("shop", "ada", Role.MONITOR, ttl=timedelta(hours=1))
    async with browser(served) as page:
        told = (await page.post("/session", json={"token": text})).json()
        assert (told["team"], told["role"]) == ("shop", "monitor")
        assert "land" not in told["rights"]
        assert (await page.get(f"{API}/inbox")).status_code == 200
        await fleet.revoke_token(token.id)
        assert (await page.get(f"{API}/inbox")).status_code == 401


async def test_another_page_cannot_use_the_session(served: Served, fleet: Fleet) -> None:
    async with browser(served) as page:
        await page.post("/session", json={"code": await fleet.sign_in_code()})
        foreign = {"Origin": "http://127.0.0.1:1"}
        assert (await page.post(f"{API}/pause", headers=foreign)).status_code == 403
        same_host = {"Sec-Fetch-Site": "same-site"}
        assert (await page.post(f"{API}/pause", headers=same_host)).status_code == 401
        assert not (await fleet.status()).paused


async def test_a_forged_session_is_refused(served: Served, fleet: Fleet) -> None:
    async with browser(served) as page:
        told = await page.post("/session", json={"code": await fleet.sign_in_code()})
        (name, value), *_ = page.cookies.items()
        assert told.status_code == 200
        subject, until, signature = value.split(".")
        for forged in (
            f"{subject}.{int(until) + 1}.{signature}",
            f"x.{until}.{signature}",
            subject,
            "",
        ):
            headers = {"Cookie": f"{name}={forged}"}
            assert httpx2.get(served.url + API + "/status", headers=headers).status_code == 401


async def test_the_socket_knows_the_session(served: Served, fleet: Fleet) -> None:
    async with browser(served) as page:
        await page.post("/session", json={"code": await fleet.sign_in_code()})
        cookie = "; ".join(f"{name}={value}" for name, value in page.cookies.items())
    url = served.url.replace("http", "ws", 1) + "/ws"
    async with websockets.connect(url, additional_headers={"Cookie": cookie}) as socket:
        await socket.send('{"type": "subscribe", "after": 0}')
        assert json.loads(await socket.recv())["type"] == "subscribed"


async def test_who_guesses_has_to_wait(served: Served) -> None:
    async with browser(served) as page:
        tried = [await page.post("/session", json={"code": "guess"}) for _ in range(6)]
    assert [each.status_code for each in tried] == [401] * 5 + [429]
