"""Stories with the real Claude Code."""

import asyncio

import pytest

from codefleet.domain.model import Reason, State
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, Station
from tests.programs.stories import PIECES, ProgramStories

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]


class TestClaude(ProgramStories):
    program = "claude"

    async def test_money_is_booked(self, station: Station) -> None:
        task = await station.add("Add tax", PIECES)
        await station.crew.work()
        [run] = await station.runs(task)
        assert run.usage.cost_usd > 0
        assert (await station.fleet.status()).spent_today == run.usage

    async def test_a_used_up_subscription_is_waited_out_until_it_resets(
        self, station: Station, repo: SampleRepo
    ) -> None:
        by_subscription = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01"}
        station.configure({"env": by_subscription})
        task = await station.add(
            "Make it",
            [{"write": ["made.txt", "one\n"]}, {"limit": 4}],
            [{"sh": "sed -i s/one/two/ made.txt"}, {"text": "Now it is made."}],
        )
        loop = station.crew.loop(until_idle=True)
        working = asyncio.create_task(loop.run())
        await self.assert_waits(station, task, Reason.QUOTA)
        await asyncio.wait_for(working, station.bound_s)
        await self.assert_resumed(station, task)
        assert repo.read("main", "made.txt") == "two\n"
        first, second = await station.runs(task)
        assert first.usage.output_tokens + second.usage.output_tokens == 60

    async def test_four_at_once_land_four_tasks(self, station: Station, repo: SampleRepo) -> None:
        meeting = station.scratch / "meeting"
        meeting.mkdir()
        all_here = f"[ $(ls {meeting} | wc -l) = 4 ]"
        tasks = [
            await station.add(
                f"Make {n}",
                [
                    {"sh": f"touch {meeting}/{n}; until {all_here}; do sleep 0.05; done"},
                    {"write": [f"{n}.txt", f"{n}\n"]},
                ],
            )
            for n in range(4)
        ]
        await station.crew.work(agents=4)
        for n, task in enumerate(tasks):
            assert (await station.task(task)).state is State.COMPLETED
            assert repo.read("main", f"{n}.txt") == f"{n}\n"

    async def test_a_model_that_never_gets_on_is_stopped(self, station: Station) -> None:
        task = await station.add("Wait", [{"sh": "touch begun"}, {"hang": True}], max_attempts=1)
        await station.crew.work(quiet_s=1, stuck_s=2, grace_s=2)
        stopped = await station.task(task)
        assert (stopped.state, stopped.reason) == (State.FAILED, Reason.STUCK)
        assert station.left_behind() == []

    @pytest.mark.parametrize(
        ("step", "reason"),
        [
            pytest.param({"error": 404}, Reason.CODER_MISSING, id="an unknown model"),
            pytest.param(
                {
                    "error": {
                        "status": 400,
                        "message": "prompt is too long: 300 tokens > 200 maximum",
                    }
                },
                Reason.CONTEXT_FULL,
                id="a full context",
            ),
            pytest.param({"error": 529}, Reason.CRASHED, id="too busy"),
            pytest.param({"text": "never to the end", "cut": True}, Reason.CRASHED, id="a cut"),
        ],
    )
    async def test_a_refusal_fails_for_the_right_reason(
        self, station: Station, step: dict[str, object], reason: Reason
    ) -> None:
        assert await self.failure(station, step) is reason
