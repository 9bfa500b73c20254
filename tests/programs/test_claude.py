"""Stories with the real Claude Code."""

import asyncio

import pytest

from codefleet.domain.model import Message
from codefleet.domain.words import Outcome, Reason, State
from codefleet.testing.model_server import prompt
from tests.gitrepo import SampleRepo
from tests.programs.conftest import FIRST_TIME_S, Station
from tests.programs.setups import Options
from tests.programs.stories import MAKE, PIECES, ProgramStories

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

EIGHT = 8
NO_CREDIT = "Your credit balance is too low to access the Anthropic API."
ASKING: dict[str, object] = {"allowed_tools": []}


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

    async def test_a_permission_is_asked_answered_and_obeyed(
        self, station: Station, repo: SampleRepo
    ) -> None:
        station.configure(ASKING)
        asked, resumed = await self.assert_leave_is_asked_for(station, repo, "Bash")
        assert resumed.session == asked.session
        assert resumed.said == "It is made."

    async def test_what_a_human_denies_is_not_done(
        self, station: Station, repo: SampleRepo
    ) -> None:
        station.configure(ASKING)
        task = await station.add(
            "Make it", [{"sh": MAKE}], [{"sh": MAKE}, {"write": ["other.txt", "1\n"]}]
        )
        await station.crew.work()
        await station.fleet.answer(task.id, "deny: use make")
        await station.crew.work()
        assert (await station.task(task)).state is State.COMPLETED
        assert repo.git("ls-tree", "--name-only", "main", "made.txt", "other.txt") == "other.txt"
        assert "deny: use make" in str(station.server.requests[-1])

    async def test_rules_answer_without_a_human(self, station: Station, repo: SampleRepo) -> None:
        rules = [
            {"tool": "Bash", "match": "python3 *", "then": "allow"},
            {"tool": "Write", "match": "secret/*", "then": "deny"},
            {"tool": "Write", "match": "src/*", "then": "allow"},
        ]
        station.configure(policy=rules)
        task = await station.add(
            "Make it",
            [
                {"sh": MAKE},
                {"write": ["secret/key", "1\n"]},
                {"write": ["src/new.py", "NEW = 1\n"]},
            ],
        )
        await station.crew.work()
        [run] = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, run.note
        told = await station.fleet.core.store.events(task=task.id, kinds=["run.permission"])
        assert [event.text for event in told] == [
            f"allow Bash {MAKE}",
            "deny Write secret/key",
            "allow Write src/new.py",
        ]
        assert repo.git("ls-tree", "-r", "--name-only", "main", "secret", "src/new.py") == (
            "src/new.py"
        )

    async def test_its_own_question_goes_to_the_inbox_and_its_answer_resumes_the_session(
        self, station: Station, repo: SampleRepo
    ) -> None:
        options = [{"label": label, "description": label} for label in ("Red", "Blue")]
        question = {"question": "Which colour?", "header": "Colour", "multiSelect": False}
        given = {"questions": [{**question, "options": options}]}
        task = await station.add(
            "Paint",
            [{"tool": "AskUserQuestion", "input": given}],
            [{"write": ["colour.txt", "red\n"]}],
        )
        await station.crew.work()
        [item] = await station.fleet.inbox()
        assert (item.kind, item.text, item.options) == (
            "question",
            "Which colour?",
            ("Red", "Blue"),
        )
        await station.fleet.answer(task.id, "Red")
        await station.crew.work()
        asked, resumed = await station.runs(task)
        assert resumed.session == asked.session
        assert repo.read("main", "colour.txt") == "red\n"

    async def test_words_reach_it_while_it_works(self, station: Station, repo: SampleRepo) -> None:
        begun, go = station.scratch / "begun", station.scratch / "go"
        hold = f"touch {begun}; until [ -e {go} ]; do sleep 0.02; done; echo 1 > made.txt"
        task = await station.add("Make it", [{"sh": hold}, {"text": "It is made."}])
        loop = station.crew.loop(1, until_idle=True)
        working = asyncio.create_task(loop.run())
        await station.until(begun.exists)
        sent = await station.fleet.send("agent-1", "MIND THE TESTS")
        assert sent.run == f"{task.id}.1"

        async def delivered() -> bool:
            return not await station.fleet.core.store.records(Message, open_only=True)

        await station.crew.wait_for(delivered)
        go.touch()
        await asyncio.wait_for(working, station.bound_s)
        assert (await station.task(task)).state is State.COMPLETED
        assert len(await station.runs(task)) == 1
        first, *_, last = station.server.requests
        assert "MIND THE TESTS" not in str(first)
        assert str(last).count("MIND THE TESTS") == 1

    async def test_eight_at_once_land_eight_tasks(self, station: Station, repo: SampleRepo) -> None:
        meeting = station.scratch / "meeting"
        meeting.mkdir()
        all_here = f"[ $(ls {meeting} | wc -l) = {EIGHT} ]"
        tasks = [
            await station.add(
                f"Make {n}",
                [
                    {"sh": f"touch {meeting}/{n}; until {all_here}; do sleep 0.05; done"},
                    {"write": [f"{n}.txt", f"{n}\n"]},
                ],
            )
            for n in range(EIGHT)
        ]
        await station.crew.work(agents=EIGHT)
        for n, task in enumerate(tasks):
            assert (await station.task(task)).state is State.COMPLETED
            assert repo.read("main", f"{n}.txt") == f"{n}\n"
        assert station.left_behind() == []

    async def test_a_model_that_never_gets_on_is_stopped(self, station: Station) -> None:
        hangs: list[dict[str, object]] = [{"hang": True}]
        task = await station.add("Wait", [{"sh": "touch begun"}, *hangs], hangs, hangs)
        await station.crew.work(quiet_s=1, stuck_s=2, grace_s=2)
        stopped = await station.task(task)
        assert (stopped.state, stopped.reason) == (State.FAILED, Reason.STUCK)
        assert len(await station.runs(task)) == 3
        assert station.left_behind() == []

    async def test_a_stalled_stream_is_followed_by_a_run_that_goes_on_in_its_session(
        self, station: Station, repo: SampleRepo
    ) -> None:
        task = await station.add(
            "Make it",
            [{"write": ["made.txt", "one\n"]}, {"hang": True}],
            [{"sh": "sed -i s/one/two/ made.txt"}, {"text": "Now it is made."}],
        )
        await station.crew.work(quiet_s=1, stuck_s=2, grace_s=2)
        await self.assert_resumed(station, task)
        assert repo.read("main", "made.txt") == "two\n"

    async def test_a_full_context_is_followed_by_a_fresh_session_with_a_checkpoint(
        self, station: Station, repo: SampleRepo
    ) -> None:
        here, gate = station.scratch / "here", station.scratch / "gate"
        meet = f"touch {here}; until [ -e {gate} ]; do sleep 0.05; done"
        full: dict[str, object] = {"sh": "sleep 300", "usage": {"input": 950_000, "output": 20}}
        task = await station.add("Make it", [{"write": ["a.txt", "a\n"]}, {"sh": meet}, full])
        working = asyncio.create_task(station.crew.work(grace_s=2))
        await station.until(here.exists)
        await station.fleet.edit(task.id, prompt=prompt({"write": ["b.txt", "b\n"]}))
        gate.touch()
        await asyncio.wait_for(working, station.bound_s)
        first, second = await station.runs(task)
        assert (first.outcome, first.reason) == (Outcome.RELEASED, Reason.CONTEXT_FULL)
        assert second.session != first.session
        assert (await station.task(task)).state is State.COMPLETED
        told = (station.home / "runs" / second.id / "prompt.md").read_text()
        assert "its context is 95% full: 950,000 of 1,000,000 tokens" in told
        assert [repo.read("main", f"{name}.txt") for name in "ab"] == ["a\n", "b\n"]

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
            pytest.param({"text": "never to the end", "cut": True}, Reason.CRASHED, id="a cut"),
        ],
    )
    async def test_a_refusal_fails_for_the_right_reason(
        self, station: Station, step: dict[str, object], reason: Reason
    ) -> None:
        assert await self.failure(station, step) is reason

    @pytest.mark.parametrize(
        ("status", "reason"),
        [(529, Reason.RATE_LIMIT), (500, Reason.CRASHED), (503, Reason.CRASHED)],
    )
    async def test_trouble_at_the_provider_costs_no_attempt(
        self, station: Station, status: int, reason: Reason
    ) -> None:
        run = await self.ended(station, {"error": status})
        assert (run.outcome, run.reason) == (Outcome.RELEASED, reason), run.note
        assert (await station.fleet.get(run.task)).attempts == 0

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            pytest.param({"env": {"ANTHROPIC_API_KEY": ""}}, Reason.AUTH, id="no key at all"),
            pytest.param({"args": ["--max-turns=1"]}, Reason.TIMEOUT, id="too many turns"),
            pytest.param({"args": ["--max-budget-usd=0.0001"]}, Reason.BUDGET, id="its own budget"),
        ],
    )
    async def test_a_run_that_was_not_let_on_ends_for_the_right_reason(
        self, station: Station, options: Options, reason: Reason
    ) -> None:
        station.configure(options)
        run = await self.ended(station, {"sh": "touch a"}, {"sh": "touch b"}, {"sh": "touch c"})
        assert run.reason is reason, run.note

    async def test_a_wrong_key_is_not_tried_ten_times(self, station: Station) -> None:
        station.configure({"env": {"CLAUDE_CODE_MAX_RETRIES": "10"}})
        run = await self.ended(station, {"error": 401})
        assert (run.outcome, run.reason) == (Outcome.RELEASED, Reason.AUTH), run.note
        assert len(station.server.requests) <= 4

    async def test_an_empty_account_is_a_quota(self, station: Station) -> None:
        run = await self.ended(station, {"error": {"status": 400, "message": NO_CREDIT}})
        assert run.reason is Reason.QUOTA, run.note
