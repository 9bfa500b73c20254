"""Stories with real agents that speak the Agent Client Protocol."""

import asyncio
import signal

import psutil
import pytest

from codefleet.domain.model import Message
from codefleet.domain.words import Outcome, Reason, State
from codefleet.runner.process.custody import AgentProcess
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, Station
from tests.programs.stories import GEMINI_REFUSALS, ProgramStories, WorkStories

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

ASK = [{"tool": "execute", "then": "ask"}]


class AcpStories(WorkStories):
    """What holds for agents behind the bridge, besides what holds for all programs."""

    async def test_a_permission_is_asked_answered_and_obeyed(
        self, station: Station, repo: SampleRepo
    ) -> None:
        station.configure(policy=ASK)
        asked, resumed = await self.assert_leave_is_asked_for(station, repo, "execute")
        assert not self.resumes or resumed.session == asked.session

    async def test_rules_answer_without_a_human(self, station: Station, repo: SampleRepo) -> None:
        rules = [
            {"tool": "edit", "match": "src/*", "then": "allow"},
            {"tool": "execute", "match": "touch *", "then": "deny"},
        ]
        station.configure(policy=rules)
        task = await station.add(
            "Make it", [{"write": ["src/new.py", "NEW = 1\n"]}, {"sh": "touch forbidden"}]
        )
        await station.crew.work()
        [run] = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, run.note
        told = await station.fleet.core.store.events(task=task.id, kinds=["run.permission"])
        assert [event.text for event in told] == [
            "allow edit src/new.py",
            "deny execute touch forbidden",
        ]
        assert repo.read("main", "src/new.py") == "NEW = 1\n"
        assert repo.git("ls-tree", "--name-only", "main", "forbidden") == ""

    async def test_words_reach_it_after_its_turn(self, station: Station, repo: SampleRepo) -> None:
        begun, go = station.scratch / "begun", station.scratch / "go"
        hold = f"touch {begun}; until [ -e {go} ]; do sleep 0.02; done; echo 1 > made.txt"
        task = await station.add("Make it", [{"sh": hold}, {"text": "It is made."}])
        loop = station.crew.loop(1, until_idle=True)
        working = asyncio.create_task(loop.run())
        await station.until(begun.exists)
        await station.fleet.send("agent-1", "MIND THE TESTS")

        async def delivered() -> bool:
            return not await station.fleet.core.store.records(Message, open_only=True)

        await station.crew.wait_for(delivered)
        go.touch()
        await asyncio.wait_for(working, station.bound_s)
        assert (await station.task(task)).state is State.COMPLETED
        assert len(await station.runs(task)) == 1
        assert str(station.server.requests[-1]).count("MIND THE TESTS") == 1

    async def test_a_cancelled_agent_leaves_nobody_behind(self, station: Station) -> None:
        begun = station.scratch / "begun"
        task = await station.add("Wait", [{"sh": f"touch {begun}; sleep 300"}])
        loop = station.crew.loop(1, until_idle=True)
        working = asyncio.create_task(loop.run())
        await station.until(begun.exists)
        await station.fleet.cancel(task.id)
        await asyncio.wait_for(working, station.bound_s)
        assert (await station.task(task)).state is State.CANCELLED
        assert station.left_behind() == []

    async def test_an_agent_killed_behind_the_bridge_is_followed_by_a_run_that_lands(
        self, station: Station, repo: SampleRepo
    ) -> None:
        """The bridge survives, and reports what happened to the agent behind it."""
        begun = station.scratch / "begun"
        hang_once = f"mkdir {begun} && sleep 300; echo 1 > made.txt"
        task = await station.add("Make it", [{"write": ["first.txt", "1\n"]}, {"sh": hang_once}])
        loop = station.crew.loop(1, until_idle=True)
        working = asyncio.create_task(loop.run())
        await station.until(begun.exists)
        [run] = await station.runs(task)
        self.agent_of(await station.kept(run)).send_signal(signal.SIGKILL)
        await asyncio.wait_for(working, station.bound_s)
        killed, last = await station.runs(task)
        assert (killed.reason, last.outcome) == (Reason.CRASHED, Outcome.SUBMITTED), last.note
        assert "the agent ended with -9" in killed.note
        assert not self.resumes or last.session == killed.session
        assert repo.read("main", "made.txt") == "1\n"
        assert station.left_behind() == []

    @staticmethod
    def agent_of(kept: AgentProcess) -> psutil.Process:
        """The agent itself: the only child of the bridge."""
        [agent] = psutil.Process(kept.agent.pid).children()
        return agent


class TestGeminiOverAcp(AcpStories, ProgramStories):
    program = "gemini"
    acp = ("--acp",)
    resumes = False  # it overwrites a session that is loaded in the minute in which it began

    async def test_a_rate_limit_is_waited_out_in_the_same_session(
        self, station: Station, repo: SampleRepo
    ) -> None:
        limit = {"error": {"status": 429, "times": 1}}
        task = await station.add("Make it", [{**limit, "write": ["made.txt", "1\n"]}])
        loop = station.crew.loop(until_idle=True)
        working = asyncio.create_task(loop.run())
        await self.assert_waits(station, task, Reason.RATE_LIMIT)
        await asyncio.wait_for(working, station.bound_s)
        assert repo.read("main", "made.txt") == "1\n"

    @pytest.mark.parametrize(("step", "reason"), GEMINI_REFUSALS)
    async def test_a_refusal_fails_for_the_right_reason(
        self, station: Station, step: dict[str, object], reason: Reason
    ) -> None:
        assert await self.failure(station, step) is reason


class TestOpencodeOverAcp(AcpStories):
    program = "opencode"
    acp = ("acp",)
