"""The real programs call their tools at the one address of their runner, which may be replaced."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet.tokens import token_of
from tests.faults.conftest import agents_alive
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, Station

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

RUN = ("run", "--agents=1")
SERVE = ("serve", "--agents=1", "--port=0")
LONGER_THAN_A_REQUEST_S = 70
"""Programs and their HTTP clients like to give up after a minute."""

PATIENCE: dict[str, object] = {"sh": "echo waiting; sleep 3"}
"""What an agent does before it repeats a call that failed."""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(station: Station) -> Iterator[Start]:
    """Starts runners; all that are still there in the end are stopped."""
    started: list[subprocess.Popen[bytes]] = []

    def one(*command: str) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-m", "codefleet", "--home", str(station.home), *command]
        quiet = subprocess.DEVNULL
        started.append(subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet))
        return started[-1]

    yield one
    for process in started:
        process.terminate()
    for process in started:
        process.wait(station.bound_s)


class Pause:
    """A step in which the agent waits until the test lets it go on."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._begun, self._over = (station.home.parent / name for name in ("begun", "over"))
        wait = f"touch {self._begun}; while ! test -e {self._over}; do sleep 0.1; done"
        self.step: dict[str, object] = {"sh": wait}

    async def begun(self) -> None:
        await self._station.until(self._begun.exists)

    def end(self) -> None:
        self._over.touch()


def _tool(tool: str, /, **given: object) -> dict[str, object]:
    return {"tool": tool, "input": given}


class OverHttp:
    """What every program can do, by the names that it gives to the tools."""

    program: str
    acp: tuple[str, ...] = ()
    tool: str

    def step(self, tool: str, **given: object) -> dict[str, object]:
        return _tool(self.tool.format(tool), **given)

    async def test_it_needs_no_server_of_its_own_and_waits_for_a_humans_answer(
        self, station: Station, repo: SampleRepo, start: Start
    ) -> None:
        task = await station.add(
            "Add tax",
            [
                self.step("report_progress", text="half way"),
                self.step("ask_human", question="How much?", options=["19", "20"]),
                {"write": ["src/tax.py", "RATE = 20\n"]},
                {"text": "The tax is in."},
            ],
        )
        start(*RUN)
        await _asked(station)
        [run] = await station.runs(task)
        words = [word for process in agents_alive(station.home) for word in _words(process.pid)]
        assert "mcp" not in words
        assert not any(token_of(run.id, station.home) in word for word in words)
        [item] = await station.fleet.inbox()
        assert (item.text, item.options) == ("How much?", ("19", "20"))
        await station.fleet.answer(item.id, "The answer is 20")
        await _done(station, task)
        assert await _reports(station) == [(run.id, "half way")]
        assert any("The answer is 20" in str(seen) for seen in station.server.requests)


class OutlivesItsRunner(OverHttp):
    """The same, while runners come and go."""

    @pytest.mark.parametrize("command", [RUN, SERVE], ids=["run", "serve"])
    async def test_it_goes_on_calling_when_its_runner_was_killed_and_replaced(
        self, station: Station, repo: SampleRepo, start: Start, command: Sequence[str]
    ) -> None:
        pause = Pause(station)
        after = self.step("report_progress", text="after")
        task = await station.add(
            "Add tax",
            [
                self.step("report_progress", text="before"),
                pause.step,
                *(after, PATIENCE, after, PATIENCE, after),  # Claude Code reconnects in steps
                {"write": ["src/tax.py", "RATE = 20\n"]},
                {"text": "The tax is in."},
            ],
        )
        first = start(*command)
        await pause.begun()
        first.kill()
        first.wait()
        start(*command)
        await _adopted(station)
        pause.end()
        await _done(station, task)
        assert {text for _, text in await _reports(station)} == {"before", "after"}
        assert len(await station.runs(task)) == 1


class KnowsACutOffCall(OutlivesItsRunner):
    """The same, and its program reports a call that its runner did not live to answer."""

    async def test_a_call_that_is_cut_off_with_its_runner_fails_and_can_be_repeated(
        self, station: Station, repo: SampleRepo, start: Start
    ) -> None:
        pause = Pause(station)
        question = self.step("ask_human", question="How much?")
        task = await station.add(
            "Add tax",
            [
                question,
                pause.step,
                *(question, PATIENCE, question),
                {"write": ["src/tax.py", "RATE = 20\n"]},
                {"text": "The tax is in."},
            ],
        )
        first = start(*RUN)
        await _asked(station)
        first.kill()
        first.wait()
        start(*RUN)
        await _adopted(station)
        await pause.begun()
        pause.end()
        await _done(station, task, "The answer is 20")
        assert any("The answer is 20" in str(seen) for seen in station.server.requests)
        assert len(await station.runs(task)) == 1


class TestClaude(KnowsACutOffCall):
    program = "claude"
    tool = "mcp__fleet__{}"

    async def test_a_question_may_stay_open_for_longer_than_a_request_usually_takes(
        self, station: Station, repo: SampleRepo, start: Start
    ) -> None:
        task = await station.add(
            "Add tax",
            [
                self.step("ask_human", question="How much?"),
                {"write": ["src/tax.py", "RATE = 20\n"]},
                {"text": "The tax is in."},
            ],
        )
        start(*RUN)
        await _asked(station)
        await asyncio.sleep(LONGER_THAN_A_REQUEST_S)
        [item] = await station.fleet.inbox()
        await station.fleet.answer(item.id, "The answer is 20")
        await _done(station, task)
        assert any("The answer is 20" in str(seen) for seen in station.server.requests)


class TestCodex(KnowsACutOffCall):
    program = "codex"
    tool = "mcp__fleet/{}"


class TestGemini(KnowsACutOffCall):
    program = "gemini"
    tool = "mcp_fleet_{}"

    @pytest.fixture(autouse=True)
    def own_settings(self, station: Station, tmp_path: Path) -> None:
        """Those that the guide tells its user to make: it takes servers from there only."""
        guide = Path(__file__).parents[2] / "docs" / "how-to" / "use-from-your-agent.md"
        blocks = re.findall(r"```json\n(.*?)```", guide.read_text(), re.DOTALL)
        (told,) = [block for block in blocks if "FLEET_TOOLS_URL" in block]
        file = tmp_path / "program" / ".gemini" / "settings.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | json.loads(told)))


class TestOpencode(OutlivesItsRunner):
    program = "opencode"
    tool = "fleet_{}"


class TestGeminiOverAcp(OutlivesItsRunner):
    program = "gemini"
    acp = ("--acp",)
    tool = "mcp_fleet_{}"


class TestOpencodeOverAcp(OverHttp):
    program = "opencode"
    acp = ("acp",)
    tool = "fleet_{}"


async def _asked(station: Station) -> None:
    await station.crew.wait_for(station.fleet.inbox)


async def _adopted(station: Station) -> None:
    async def adopted() -> bool:
        return any(event.kind == "run.adopted" for event in await station.fleet.events(limit=500))

    await station.crew.wait_for(adopted)


async def _reports(station: Station) -> list[tuple[str | None, str]]:
    events = await station.fleet.events(limit=500)
    return [(event.run, event.text) for event in events if event.kind == "run.progress"]


async def _done(station: Station, task: Task, answer: str = "") -> None:
    """Wait until the task is completed; with an `answer`, give it to every question."""

    async def ended() -> bool:
        for item in await station.fleet.inbox() if answer else ():
            await station.fleet.answer(item.id, answer)
        return (await station.task(task)).state.is_final

    await station.crew.wait_for(ended)
    found = await station.task(task)
    assert found.state is State.COMPLETED, found.note


def _words(pid: int) -> Sequence[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return ()
