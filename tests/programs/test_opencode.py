"""Stories with the real opencode, which retries by itself before it gives up."""

import asyncio
from typing import ClassVar

import pytest

from codefleet.domain.words import Outcome, Reason, State
from codefleet.testing.model_server import prompt
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, Station
from tests.programs.stories import PIECES, WorkStories

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

TOO_LONG = {
    "error": {
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
        "message": "Your input exceeds the context window of this model.",
    }
}


class TestOpencode(WorkStories):
    program = "opencode"
    limit: ClassVar[dict[str, object]] = {
        "error": {"status": 429, "headers": {"retry-after-ms": "20"}}
    }

    async def test_tokens_and_money_are_booked(self, station: Station) -> None:
        task = await station.add("Add tax", PIECES)
        await station.crew.work()
        [run] = await station.runs(task)
        assert (run.usage.input_tokens, run.usage.output_tokens) == (400, 80)
        assert run.usage.cost_usd > 0

    async def test_a_rate_limit_is_waited_out_in_the_same_session(
        self, station: Station, repo: SampleRepo
    ) -> None:
        await self.assert_a_limit_is_waited_out(station, repo)

    async def test_it_gets_over_a_short_trouble_at_the_server_by_itself(
        self, station: Station, repo: SampleRepo
    ) -> None:
        trouble = {"error": {"status": 500, "times": 1}}
        task = await station.add("Make it", [{**trouble, "write": ["made.txt", "1\n"]}])
        await station.crew.work()
        [run] = await station.runs(task)
        assert run.outcome is Outcome.SUBMITTED
        assert repo.read("main", "made.txt") == "1\n"

    async def test_a_context_that_gets_full_is_continued_by_a_fresh_session(
        self, station: Station, repo: SampleRepo
    ) -> None:
        station.configure(windows={"opencode": 200_000})
        here, gate = station.scratch / "here", station.scratch / "gate"
        meet = f"touch {here}; until [ -e {gate} ]; do sleep 0.05; done"
        full: dict[str, object] = {"sh": meet, "usage": {"input": 190_000, "output": 20}}
        hangs: dict[str, object] = {"hang": True}
        task = await station.add("Make it", [{"write": ["a.txt", "a\n"]}, full, hangs])
        working = asyncio.create_task(station.crew.work(grace_s=2))
        await station.until(here.exists)
        await station.fleet.edit(task.id, prompt=prompt({"write": ["b.txt", "b\n"]}))
        gate.touch()
        await asyncio.wait_for(working, station.bound_s)
        first, second = await station.runs(task)
        assert (first.outcome, first.reason) == (Outcome.RELEASED, Reason.CONTEXT_FULL), first.note
        assert second.session != first.session
        assert [repo.read("main", f"{name}.txt") for name in "ab"] == ["a\n", "b\n"]

    async def test_a_model_that_there_is_not_is_not_tried_again(self, station: Station) -> None:
        task = await station.add("Make it", [{"text": "never"}], model="scripted/nope")
        await station.crew.work()
        failed = await station.task(task)
        assert (failed.state, failed.reason) == (State.FAILED, Reason.CODER_MISSING), failed.note
        assert "Model not found: scripted/nope" in failed.note

    async def test_a_full_context_fails_for_that_reason(self, station: Station) -> None:
        step: dict[str, object] = {"error": {"status": 400, "body": TOO_LONG}}
        assert await self.failure(station, step) is Reason.CONTEXT_FULL
