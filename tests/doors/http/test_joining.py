"""`POST /auth`, the one route for strangers: it costs the server little, whatever they send."""

import asyncio

import httpx2
import pytest

from codefleet.domain.errors import TooManyGuesses, Unauthenticated
from codefleet.domain.words import Role
from codefleet.doors.http.claude_fleet.attempts import MOST as MOST_OF_AN_ADDRESS
from codefleet.doors.http.joining import LARGEST_BODY
from codefleet.fleet import Fleet
from codefleet.fleet.guesses import MOST as MOST_OF_A_TEAM
from tests.doors.http.conftest import BOUND_S, Served
from tests.doors.http.test_rude_clients import connected, head

WRONG = {"handle": "bob", "teamName": "web", "secret": "guess"}
TYPE = "Content-Type: application/json"


def caller(served: Served, address: str) -> httpx2.AsyncClient:
    """A client at an address of its own."""
    transport = httpx2.AsyncHTTPTransport(local_address=address)
    return httpx2.AsyncClient(base_url=served.url, transport=transport, timeout=BOUND_S)


async def begun(served: Served, *lines: str, body: bytes = b"") -> bytes:
    """The answer to a request whose body never ends."""
    sent = head(served, "POST", "/auth", TYPE, *lines) + body
    async with asyncio.timeout(BOUND_S), connected(served, sent) as (reader, _):
        return await reader.readuntil(b"\r\n")


async def test_a_large_body_is_refused_before_it_has_arrived(served: Served) -> None:
    announced = await begun(served, f"Content-Length: {LARGEST_BODY + 1}")
    chunk = b"%x\r\n%b\r\n" % (LARGEST_BODY + 1, b"x" * (LARGEST_BODY + 1))
    arriving = await begun(served, "Transfer-Encoding: chunked", body=chunk)
    assert announced.startswith(b"HTTP/1.1 413")
    assert arriving.startswith(b"HTTP/1.1 413")


async def test_an_address_that_guesses_is_refused_before_its_body_is_read(
    served: Served, fleet: Fleet
) -> None:
    async with caller(served, "127.0.0.1") as stranger:
        for _ in range(MOST_OF_AN_ADDRESS):
            assert (await stranger.post("/auth", json=WRONG)).status_code == 401
    assert (await begun(served, "Content-Length: 100")).startswith(b"HTTP/1.1 429")


async def test_a_team_under_attack_lets_even_the_right_secret_wait_and_does_not_count_it(
    served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("web")
    _, secret = await fleet.invite("web", Role.WORKER)
    for number in range(MOST_OF_A_TEAM // MOST_OF_AN_ADDRESS):
        async with caller(served, f"127.0.0.{number + 2}") as guesser:
            for _ in range(MOST_OF_AN_ADDRESS):
                assert (await guesser.post("/auth", json=WRONG)).status_code == 401
    async with caller(served, "127.0.0.9") as friend:
        for _ in range(MOST_OF_AN_ADDRESS + 1):
            late = await friend.post("/auth", json={**WRONG, "secret": secret})
            assert (late.status_code, late.json()["code"]) == (429, "too_many_requests")
            assert 0 < int(late.headers["retry-after"]) <= 60
            assert "from your address" not in late.json()["detail"]


async def test_the_core_says_how_long_to_wait(fleet: Fleet) -> None:
    for _ in range(MOST_OF_A_TEAM):
        with pytest.raises(Unauthenticated):
            await fleet.join("web", "bob", "guess")
    with pytest.raises(TooManyGuesses) as refused:
        await fleet.join("web", "bob", "guess")
    assert 0 < refused.value.seconds <= 60
