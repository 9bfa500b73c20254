"""Stories with the real opencode, which tries again by itself before it gives up."""

from typing import ClassVar

import pytest

from codefleet.domain.words import Outcome, Reason
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

    async def test_a_full_context_fails_for_that_reason(self, station: Station) -> None:
        step: dict[str, object] = {"error": {"status": 400, "body": TOO_LONG}}
        assert await self.failure(station, step) is Reason.CONTEXT_FULL
