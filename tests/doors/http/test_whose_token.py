"""Which token a command sends to a server, and which it keeps to itself."""

import asyncio
from pathlib import Path

from codefleet.domain.errors import Forbidden, Unauthenticated
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, RunnerId
from codefleet.domain.scheduling import ClaimFilter
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from tests.doors.conftest import Result, program
from tests.doors.http.conftest import Served


async def fleet_says(*words: str, **env: str) -> Result:
    return await asyncio.to_thread(program, *words, env=env)


async def test_an_agent_stays_an_agent_at_the_server_of_its_fleet(
    served: Served, fleet: Fleet
) -> None:
    await fleet.add([Draft(title="Lead")])
    seat = Seat("agent-1", RunnerId("r"), "lab", "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter())
    env = {"FLEET_RUN": str(claim.run.id)}
    here = await fleet_says("pause", **env)
    there = await fleet_says("--server", served.url, "pause", **env)
    assert there == here
    assert there.code == Forbidden.exit_code
    env["FLEET_TOKEN"] = served.token
    assert await fleet_says("--server", served.url, "pause", **env) == here
    assert not (await fleet.status()).paused
    other = await fleet_says("--server", "http://127.0.0.1:1", "list", **env)
    assert (other.code, "may not use the server" in other.err) == (Forbidden.exit_code, True)
    assert (await fleet_says("--server", served.url, "add", "Child", **env)).code == 0
    added = [event.by for event in await fleet.events() if event.kind == "task.added"]
    assert f"run {claim.run.id}" in added


async def test_the_owners_token_goes_only_to_the_server_of_the_home(
    served: Served, fleet: Fleet
) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1 << 16))
        writer.close()

    stranger = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with stranger:
        port = stranger.sockets[0].getsockname()[1]
        told = await fleet_says("--server", f"http://127.0.0.1:{port}", "list")
    assert (told.code, "there is no token" in told.err) == (Unauthenticated.exit_code, True)
    assert heard == []
    assert (await fleet_says("--server", served.url, "list")).code == 0
    by_name = served.url.replace("127.0.0.1", "localhost")
    assert (await fleet_says("--server", by_name, "list")).code == 0
    served.process.terminate()
    await asyncio.to_thread(served.process.wait)
    gone = await fleet_says("--server", served.url, "list")
    assert "there is no token" in gone.err


async def test_the_home_that_is_named_gives_the_token(
    served: Served, home: Path, tmp_path: Path
) -> None:
    words = ("--server", served.url, "list")
    elsewhere = {"FLEET_HOME": str(tmp_path / "elsewhere")}
    assert (await fleet_says(*words, **elsewhere)).code == Unauthenticated.exit_code
    named = await fleet_says("--home", str(home), *words, **elsewhere)
    assert named.code == 0, named.err
