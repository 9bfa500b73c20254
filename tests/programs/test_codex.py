"""Stories with the real Codex."""

from typing import ClassVar

import pytest

from codefleet.domain.accounts import coder_of
from codefleet.domain.words import Outcome, Reason, State
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, Station
from tests.programs.setups import Options
from tests.programs.stories import PIECES, ProgramStories

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

TOO_LONG = {
    "error": {
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
        "message": "Your input exceeds the context window of this model.",
    }
}
NO_MODEL = {
    "error": {
        "type": "invalid_request_error",
        "code": "model_not_found",
        "message": "The model `gpt-5.5` does not exist or you do not have access to it.",
    }
}

NO_CREDIT = {
    "error": {
        "type": "insufficient_quota",
        "code": "insufficient_quota",
        "message": "You exceeded your current quota, please check your plan and billing details.",
    }
}
USED_UP = {"error": {"type": "usage_limit_reached", "message": "m", "plan_type": "team"}}


class TestCodex(ProgramStories):
    program = "codex"
    unfenced: ClassVar[Options] = {"sandbox": "danger-full-access"}

    async def test_a_model_with_a_single_tool_lands_its_task_too(
        self, station: Station, repo: SampleRepo
    ) -> None:
        task = await station.add("Add tax", PIECES, model="gpt-6-sol")
        await station.crew.work()
        assert (await station.task(task)).state is State.COMPLETED
        assert repo.read("main", "src/tax.py") == "RATE = 20\n"

    async def test_a_used_up_subscription_waits_for_its_reset(self, station: Station) -> None:
        task = await station.add("Make it", [{"limit": 2 * 24 * 3600}])

        async def waits() -> bool:
            return (await station.task(task)).reason is Reason.QUOTA

        await station.crew.until(station.crew.loop(), waits)
        waiting = await station.task(task)
        now = await station.fleet.core.store.now()
        assert (waiting.state, waiting.attempts) == (State.PENDING, 0)
        [rest] = await station.fleet.rests()
        assert coder_of(rest.account) == "codex"
        assert rest.until
        assert 47 <= (rest.until - now).total_seconds() / 3600 <= 49

    async def test_a_used_up_subscription_of_the_same_day_rests_until_the_time_it_names(
        self, station: Station
    ) -> None:
        task = await station.add("Make it", [{"limit": 300}])

        async def waits() -> bool:
            return (await station.task(task)).reason is not None

        await station.crew.until(station.crew.loop(), waits)
        [run] = await station.runs(task)
        assert run.reason is Reason.QUOTA, run.note
        [rest] = await station.fleet.rests()
        assert rest.until
        assert 200 <= (rest.until - rest.since).total_seconds() <= 400

    @pytest.mark.parametrize(
        ("step", "reason"),
        [
            pytest.param(
                {"error": {"status": 404, "body": NO_MODEL}},
                Reason.CODER_MISSING,
                id="an unknown model",
            ),
            pytest.param(
                {"error": {"status": 400, "body": TOO_LONG}},
                Reason.CONTEXT_FULL,
                id="a full context",
            ),
            pytest.param({"text": "never to the end", "cut": True}, Reason.CRASHED, id="a cut"),
        ],
    )
    async def test_a_refusal_fails_for_the_right_reason(
        self, station: Station, step: dict[str, object], reason: Reason
    ) -> None:
        assert await self.failure(station, step) is reason

    @pytest.mark.parametrize("status", [500, 503])
    async def test_trouble_at_the_provider_costs_no_attempt(
        self, station: Station, status: int
    ) -> None:
        run = await self.ended(station, {"error": status})
        assert (run.outcome, run.reason) == (Outcome.RELEASED, Reason.CRASHED), run.note

    async def test_without_a_key_a_human_must_log_in(self, station: Station) -> None:
        station.configure({"env": {"SCRIPTED_KEY": ""}})
        run = await self.ended(station, {"sh": "touch a"})
        assert run.reason is Reason.AUTH, run.note

    async def test_an_empty_account_is_a_quota(self, station: Station) -> None:
        run = await self.ended(station, {"error": {"status": 429, "body": NO_CREDIT}})
        assert run.reason is Reason.QUOTA, run.note

    @pytest.mark.parametrize(
        "kind", ["workspace_owner_credits_depleted", "workspace_member_usage_limit_reached"]
    )
    async def test_a_workspace_that_is_used_up_is_a_quota(
        self, station: Station, kind: str
    ) -> None:
        headers = {"x-codex-rate-limit-reached-type": kind}
        refusal = {"status": 429, "headers": headers, "body": USED_UP}
        run = await self.ended(station, {"error": refusal})
        assert run.reason is Reason.QUOTA, run.note
