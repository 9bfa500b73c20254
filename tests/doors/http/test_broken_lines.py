"""A line to a server that breaks: nothing is done twice, and no part is taken for the whole."""

import asyncio
from pathlib import Path

import pytest

from codefleet.domain.errors import Unreachable
from codefleet.domain.model import Draft
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.wiring import open_fleet
from tests.doors.conftest import program
from tests.doors.http.conftest import BOUND_S, Served
from tests.doors.http.rude_proxy import Spoil, dropping, proxy

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def token(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_TOKEN", served.token)


async def test_a_task_is_added_once_though_the_first_answer_was_lost(
    served: Served, fleet: Fleet
) -> None:
    async with proxy(served.url, dropping(b"POST")) as url, asyncio.timeout(BOUND_S):
        added = await asyncio.to_thread(program, "--server", url, "add", "Extract the mailer")
        assert added.code == 0, added.err
    assert [task.title for task in await fleet.list(TaskQuery())] == ["Extract the mailer"]


async def test_what_has_no_key_is_not_sent_again_and_may_have_been_done(
    served: Served, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Greet")])
    await fleet.cancel(task.id)
    async with proxy(served.url, dropping(b"POST")) as url, open_fleet(url) as remote:
        with pytest.raises(Unreachable, match="may have been done"):
            await remote.retry(task.id)
        assert (await remote.get(task.id)).state == "pending"
    events = await fleet.events(task=task.id, limit=10)
    assert [each.kind for each in events].count("task.retried") == 1


async def test_a_question_is_asked_again_if_a_kept_connection_was_closed(served: Served) -> None:
    drop = dropping(b"GET /api/v1/inbox")
    async with proxy(served.url, drop) as url, open_fleet(url) as remote:
        assert await remote.inbox() == []


async def test_a_server_that_cannot_be_connected_has_done_nothing(served: Served) -> None:
    async with open_fleet(served.url) as remote:
        served.process.terminate()
        await asyncio.to_thread(served.process.wait, BOUND_S)
        with pytest.raises(Unreachable, match="does not answer"):
            await remote.pause()


CUTS: dict[str, Spoil] = {
    "before the last chunk": lambda request, answer: answer.removesuffix(b"0\r\n\r\n"),
    "after a line": lambda request, answer: answer[: answer.rindex(b"\r\n", 0, -5)],
    "inside a chunk": lambda request, answer: answer[:-40],
}


@pytest.mark.parametrize("where", CUTS)
async def test_a_cut_export_is_an_error_and_stays_a_part(
    where: str, served: Served, fleet: Fleet, tmp_path: Path
) -> None:
    await fleet.add([Draft(title="Greet"), Draft(title="Part")])

    def spoil(request: bytes, answer: bytes) -> bytes:
        streamed = b"/export" in request or b"/story" in request
        return CUTS[where](request, answer) if streamed else answer

    target = tmp_path / "all.jsonl"
    async with proxy(served.url, spoil) as url, asyncio.timeout(BOUND_S):
        cut = await asyncio.to_thread(program, "--server", url, "export", str(target))
        assert (cut.code, "broke off" in cut.err) == (Unreachable.exit_code, True), cut.err
        assert not target.exists()
        assert (tmp_path / "all.jsonl.part").read_text().startswith("{")
        async with open_fleet(url) as remote:
            with pytest.raises(Unreachable, match="broke off"):
                _ = [each async for each in remote.story()]
    whole = await asyncio.to_thread(program, "--server", served.url, "export", str(target))
    assert whole.code == 0, whole.err
    assert target.read_text().splitlines() == [line async for line in fleet.export()]
    assert not (tmp_path / "all.jsonl.part").exists()
