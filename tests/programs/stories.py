"""The stories that every real program must pass, as a class to inherit."""

import asyncio
import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from psutil import process_iter

from codefleet.domain.accounts import coder_of
from codefleet.domain.model import Run, Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.ports import Write
from codefleet.testing.model_server import prompt
from tests.false_alarms import ALL_OF_IT
from tests.gitrepo import SampleRepo
from tests.programs.conftest import Station
from tests.programs.setups import Options

PIECES: list[dict[str, object]] = [
    {"text": "I begin.", "write": ["src/tax.py", "RATE = 19\n"]},
    {"sh": "echo 'TAX = 7' > src/reduced.py"},
    {"edit": ["src/tax.py", "RATE = 19", "RATE = 20"]},
    {"text": "The tax is in."},
]
NO_SESSION = {
    "claude": "a5027f0b-5655-4428-ab98-8053e7200ccb",
    "codex": "801bc8a0-6bda-4b76-b10d-bcb8331bf459",
    "gemini": "c392a7ee-8820-43dc-a320-54c799bfc3d2",
    "opencode": "ses_e1f937c01ffeCucDZPvFO9R1QY",
}
"""Ids in each program's format, of sessions that never existed."""
MAKE = "python3 -c \"open('made.txt', 'w').write('made\\n')\""
GEMINI_TOO_LONG = (
    "The input token count (3000000) exceeds the maximum number of tokens allowed (1048576)."
)
GEMINI_NO_MODEL = {
    "error": {
        "code": 404,
        "message": "models/gemini-nope is not found for API version v1beta, or is not supported.",
        "status": "NOT_FOUND",
    }
}
GEMINI_REFUSALS = [
    pytest.param({"error": 404}, Reason.CODER_MISSING, id="an unknown service"),
    pytest.param(
        {"error": {"status": 404, "body": GEMINI_NO_MODEL}},
        Reason.CODER_MISSING,
        id="an unknown model",
    ),
    pytest.param(
        {"error": {"status": 400, "message": GEMINI_TOO_LONG}},
        Reason.CONTEXT_FULL,
        id="a full context",
    ),
    pytest.param({"text": "never to the end", "cut": True}, Reason.CRASHED, id="a cut"),
]
"""Steps in which the server of Gemini's models refuses, and what follows."""


class WorkStories:
    """What holds for all programs; the test class of each one names its `program`."""

    program: ClassVar[str]
    acp: ClassVar[Sequence[str]] = ()
    """Arguments with which it speaks ACP. If there are any, the coder `acp` drives it."""
    resumes: ClassVar[bool] = True
    """Whether it reliably finds a session again."""
    limit: ClassVar[dict[str, object]] = {"error": 429}
    """A step in which its provider refuses because of a rate limit, until it gives up."""
    unfenced: ClassVar[Options] = {}
    """Options under which its tools are ordinary processes, without its own sandbox."""
    tokens: ClassVar[tuple[int, int] | None] = None
    """What it reads and writes for the pieces of a task, if it counts all of it."""

    async def test_a_task_is_edited_checked_and_landed(
        self, station: Station, repo: SampleRepo
    ) -> None:
        task = await station.add("Add tax", PIECES, checks=["test -f src/reduced.py"])
        await station.crew.work()
        [run] = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, run.note
        assert repo.read("main", "src/tax.py") == "RATE = 20\n"
        assert repo.read("main", "src/reduced.py") == "TAX = 7\n"
        assert run.said == "The tax is in."
        assert run.evidence
        assert run.evidence.checks_passed
        booked = (run.usage.input_tokens, run.usage.output_tokens)
        assert booked == (self.tokens or booked)
        assert station.left_behind() == []

    async def test_words_about_limits_and_logins_are_no_alarm(self, station: Station) -> None:
        task = await station.add(
            "Talk of trouble",
            [
                {"text": ALL_OF_IT, "write": ["words.txt", f"{ALL_OF_IT}\n"]},
                {"sh": "cat words.txt; cat words.txt >&2; false"},
                {"text": ALL_OF_IT},
            ],
        )
        await station.crew.work()
        [run] = await station.runs(task)
        done = await station.task(task)
        assert (done.state, done.attempts) == (State.COMPLETED, 0), run.note
        assert run.said == ALL_OF_IT

    async def test_its_own_tools_may_write_the_notes_and_nothing_of_them_lands(
        self, station: Station, repo: SampleRepo
    ) -> None:
        said = {"status": "completed", "summary": "The tax is in.", "files_changed": ["lie.py"]}
        task = await station.add(
            "Add tax",
            [
                {"write": [".codefleet/KNOWLEDGE.md", "The till is old.\n"]},
                {"write": ["src/tax.py", "RATE = 19\n"]},
                {"write": [".codefleet/result.json", json.dumps(said) + "\n"]},
                {"sh": "echo '1. done' > .codefleet/PLAN_AND_STATUS.md; git add -A; true"},
                {"text": "The tax is in."},
            ],
        )
        await station.crew.work()
        [run] = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, run.note
        assert run.result
        assert run.result.summary == "The tax is in."
        assert run.result.files_changed == ("src/tax.py",)
        home = station.home / "runs" / run.id
        assert (home / "KNOWLEDGE.md").read_text() == "The till is old.\n"
        assert (home / "PLAN_AND_STATUS.md").read_text() == "1. done\n"
        listed = repo.git("ls-tree", "-r", "--name-only", "main").split()
        assert listed == ["README.md", "src/tax.py", "src/till.py"]

    async def test_a_question_in_the_file_is_answered_in_the_same_session(
        self, station: Station, repo: SampleRepo
    ) -> None:
        file = "'.codefleet/Q&A.md'"
        ask = f"printf '\\n## Question\\n\\nWhich rate?\\n\\n- 7\\n- 19\\n' >> {file}"
        end: dict[str, object] = {"text": "That is all for now."}
        do: dict[str, object] = {
            "sh": f"if grep Answer {file}; then tail -n 1 {file} > rate.txt; else {ask}; fi"
        }
        task = await station.add("Add tax", [do, end], [do, end, end])
        await station.crew.work()
        [item] = await station.fleet.inbox()
        assert (item.text, item.options) == ("Which rate?", ("7", "19"))
        await station.fleet.answer(task.id, "19")
        await station.crew.work()
        asked, last = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, last.note
        assert asked.session == last.session or not self.resumes
        assert repo.read("main", "rate.txt") == "19\n"

    @pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
    async def test_a_program_killed_in_a_tool_is_followed_by_a_run_that_lands(
        self, station: Station, repo: SampleRepo, how: str
    ) -> None:
        station.configure(self.unfenced)
        gate = station.scratch / "gate"
        hang_once = f"mkdir {gate} && echo 1 > first.txt && sleep 300; echo done > made.txt"
        task = await station.add("Make it", [{"sh": hang_once}], [{"sh": "echo done > made.txt"}])
        loop = station.crew.loop(until_idle=True)
        working = asyncio.create_task(loop.run())
        await station.until(gate.exists)
        [run] = await station.runs(task)
        await station.until((Path(str(run.worktree)) / "first.txt").exists)
        (await station.kept(run)).agent.send(signal.Signals[how])
        await asyncio.wait_for(working, station.bound_s)
        killed, last = await station.runs(task)
        assert (killed.outcome, killed.reason) == (Outcome.FAILED, Reason.CRASHED)
        assert last.outcome is Outcome.SUBMITTED
        assert (await station.task(task)).state is State.COMPLETED
        assert repo.read("main", "first.txt") == "1\n"
        assert repo.read("main", "made.txt") == "done\n"
        assert station.left_behind() == []

    async def test_what_a_tool_leaves_running_is_ended(
        self, station: Station, repo: SampleRepo
    ) -> None:
        station.configure(self.unfenced)
        begin = "nohup sleep 300 >/dev/null 2>&1 & setsid sleep 300 >/dev/null 2>&1 &"
        leave = f"{begin} echo $! > a.txt"
        task = await station.add("Leave", [{"sh": leave}])
        await station.crew.work()
        [run] = await station.runs(task)
        assert (await station.task(task)).state is State.COMPLETED, run.note
        left = int(repo.read("main", "a.txt"))
        assert (left, "sleep") not in {(p.pid, p.info["name"]) for p in process_iter(["name"])}
        assert station.left_behind() == []

    async def test_a_wrong_key_lets_the_account_rest_until_a_human_wakes_it(
        self, station: Station
    ) -> None:
        task = await station.add("Make it", [{"error": 401}])
        await station.crew.work()
        [run] = await station.runs(task)
        waiting = await station.task(task)
        assert (run.outcome, run.reason) == (Outcome.RELEASED, Reason.AUTH), run.note
        assert (waiting.state, waiting.attempts) == (State.PENDING, 0)
        [item] = await station.fleet.inbox()
        assert item.kind == "account"
        assert item.text.startswith(f"{item.id} is logged out: log in")
        assert (await station.fleet.wake(station.coder)).account == item.id

    async def test_a_limit_on_the_first_request_costs_no_attempt(
        self, station: Station, repo: SampleRepo
    ) -> None:
        limit = {"error": {"status": 429, "times": 1}}
        task = await station.add("Make it", [{**limit, "write": ["made.txt", "1\n"]}])
        await station.crew.work()
        *_, last = await station.runs(task)
        done = await station.task(task)
        assert (done.state, done.attempts) == (State.COMPLETED, 0), last.note
        assert repo.read("main", "made.txt") == "1\n"

    async def test_a_session_that_is_gone_is_begun_anew_without_blame(
        self, station: Station, repo: SampleRepo
    ) -> None:
        go_on: list[dict[str, object]] = [{"write": ["made.txt", "two\n"]}, {"text": "Done."}]
        refusal: dict[str, object] = {"error": 401}  # at which every program gives up at once
        task = await station.add("Make it", [{"write": ["first.txt", "1\n"]}, refusal], go_on)
        await station.crew.work()
        await station.fleet.wake(station.coder)
        [refused] = await station.runs(task)
        gone = refused.evolve(session=NO_SESSION[self.program], version=refused.version + 1)
        await station.fleet.core.store.write(Write(runs=[gone]))
        await station.fleet.edit(task.id, prompt=prompt(*go_on))
        await station.crew.work()
        *_, last = await station.runs(task)
        done = await station.task(task)
        assert (done.state, done.attempts) == (State.COMPLETED, 0), last.note
        assert last.worktree == refused.worktree
        told = (station.home / "runs" / last.id / "prompt.md").read_text()
        assert "first.txt" in told
        assert repo.read("main", "first.txt") == "1\n"
        assert repo.read("main", "made.txt") == "two\n"

    async def ended(self, station: Station, *steps: dict[str, object]) -> Run:
        """The first run of a task with these steps, once it ended, whatever follows."""
        task = await station.add("Fail", list(steps), max_attempts=1)

        async def is_over() -> bool:
            return any(not run.is_live for run in await station.runs(task))

        await station.crew.until(station.crew.loop(), is_over)
        first, *_ = await station.runs(task)
        return first

    async def assert_waits(self, station: Station, task: Task, reason: Reason) -> None:
        """The task waits until a stated time, and has used no attempt."""

        async def waits() -> bool:
            return (await station.task(task)).reason is reason

        await station.crew.wait_for(waits)
        waiting = await station.task(task)
        assert (waiting.state, waiting.attempts) == (State.PENDING, 0)
        [shown] = (await station.fleet.status()).waiting
        if reason is Reason.RATE_LIMIT:
            assert waiting.not_before
            assert shown.text == f"not before {waiting.not_before:%H:%M:%S} UTC ({reason.words})"
        else:
            [rest] = await station.fleet.rests()
            assert coder_of(rest.account) == self.program
            assert shown.text.startswith(f"{rest.account} rests until ")

    async def assert_resumed(self, station: Station, task: Task) -> None:
        """A second run continued in the first one's session and worktree, and landed."""
        first, second = await station.runs(task)
        done = await station.task(task)
        assert (done.state, done.attempts) == (State.COMPLETED, 0), second.note
        assert first.outcome is Outcome.RELEASED
        assert second.session == first.session
        assert second.worktree == first.worktree

    async def assert_a_limit_is_waited_out(self, station: Station, repo: SampleRepo) -> None:
        """A limit in the middle of a task: it continues in the same session afterwards."""
        task = await station.add(
            "Make it",
            [{"write": ["made.txt", "one\n"]}, self.limit],
            [{"sh": "sed -i s/one/two/ made.txt"}, {"text": "Now it is made."}],
        )
        loop = station.crew.loop(until_idle=True)
        working = asyncio.create_task(loop.run())
        await self.assert_waits(station, task, Reason.RATE_LIMIT)
        await asyncio.wait_for(working, station.bound_s)
        await self.assert_resumed(station, task)
        assert repo.read("main", "made.txt") == "two\n"

    async def assert_leave_is_asked_for(
        self, station: Station, repo: SampleRepo, tool: str
    ) -> tuple[Run, Run]:
        """A tool that needs permission: requested, allowed by a human, used by the next run."""
        task = await station.add(
            "Make it",
            [{"write": ["first.txt", "1\n"]}, {"sh": MAKE}, {"text": "never said"}],
            [{"sh": MAKE}, {"text": "It is made."}],
        )
        await station.crew.work()
        [item] = await station.fleet.inbox()
        assert (item.kind, item.text) == ("permission", f"May it use {tool}?\n{MAKE}")
        await station.fleet.answer(task.id, "allow")
        await station.crew.work()
        asked, resumed = await station.runs(task)
        assert (asked.outcome, resumed.outcome) == (Outcome.ASKED, Outcome.SUBMITTED), resumed.note
        assert repo.read("main", "first.txt") == "1\n"
        assert repo.read("main", "made.txt") == "made\n"
        assert station.left_behind() == []
        return asked, resumed

    async def failure(self, station: Station, *steps: dict[str, object]) -> Reason | None:
        """The reason why a task with these steps fails."""
        task = await station.add("Fail", list(steps), max_attempts=1)
        await station.crew.work()
        failed = await station.task(task)
        assert failed.state is State.FAILED
        return failed.reason


class ProgramStories(WorkStories):
    """For programs that count all tokens, and give up at once when their provider refuses."""

    tokens = (400, 80)

    async def test_a_rate_limit_is_waited_out_in_the_same_session(
        self, station: Station, repo: SampleRepo
    ) -> None:
        await self.assert_a_limit_is_waited_out(station, repo)

    async def test_trouble_at_the_server_is_followed_by_a_run_that_lands(
        self, station: Station, repo: SampleRepo
    ) -> None:
        trouble = {"error": {"status": 500, "times": 1}}
        task = await station.add("Make it", [{**trouble, "write": ["made.txt", "1\n"]}])
        await station.crew.work()
        troubled, *_, last = await station.runs(task)
        assert (troubled.reason, last.outcome) == (Reason.CRASHED, Outcome.SUBMITTED)
        assert repo.read("main", "made.txt") == "1\n"

    async def test_a_dead_server_is_a_crash(self, station: Station) -> None:
        station.server.close()
        assert await self.failure(station) is Reason.CRASHED
