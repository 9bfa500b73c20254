"""What agents leave for one another and for humans: knowledge, results, questions."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Run, RunId, Task
from codefleet.domain.words import Outcome, Reason, ReportedStatus, State
from codefleet.fleet import Fleet
from codefleet.runner.brief import notes
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


def collected(fleet: Fleet, run: Run, name: str) -> str:
    return (fleet.home / "runs" / run.id / name).read_text()


async def warnings(fleet: Fleet) -> str:
    return "\n".join(e.text for e in await fleet.events() if e.kind == "run.warned")


async def test_the_second_run_of_a_task_has_what_the_first_found_out(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add(
        "Guess",
        "note The till is old.",
        "write .codefleet/PLAN_AND_STATUS.md '1. guess'",
        "write guess.txt wrong",
        "on attempt 2",
        "shell cat .codefleet/PLAN_AND_STATUS.md .codefleet/KNOWLEDGE.md > guess.txt",
        "note It was a guess.",
        checks=["grep -q till guess.txt"],
    )
    await crew.work()
    first, second = await fleet.runs_of(task.id)
    assert (first.reason, second.outcome) == (Reason.CHECKS_FAILED, Outcome.SUBMITTED)
    assert repo.read("main", "guess.txt") == "1. guess\nThe till is old.\n"
    assert collected(fleet, first, "KNOWLEDGE.md") == "The till is old.\n"
    assert collected(fleet, second, "KNOWLEDGE.md") == "The till is old.\nIt was a guess.\n"
    assert repo.git("ls-tree", "-r", "--name-only", "main").split() == [
        "README.md",
        "guess.txt",
        "src/till.py",
    ]


async def test_notes_are_brought_home_however_a_run_ends(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    ends = ("crash SIGKILL", "crash 1", "broke unknown no", "limit 3000 Later", "ask Why?", "hang")
    tasks = [await add(end, f"note {end}", end, max_attempts=1) for end in ends]
    loop = crew.loop(agents=len(tasks))
    hanging = tasks[-1]

    async def all_others_ended() -> bool:
        runs = [run for task in tasks for run in await fleet.runs_of(task.id)]
        return len(runs) == len(tasks) and [run.task for run in runs if run.is_live] == [hanging.id]

    async def it_noted() -> bool:
        [run] = await fleet.runs_of(hanging.id)
        return bool(run.worktree and (Path(run.worktree) / ".codefleet" / "KNOWLEDGE.md").exists())

    running = asyncio.create_task(loop.run())
    await crew.wait_for(all_others_ended)
    await crew.wait_for(it_noted)
    await fleet.cancel(hanging.id)

    async def none_is_live() -> bool:
        return not await fleet.core.store.runs(live=True)

    await crew.wait_for(none_is_live)
    loop.stop()
    await running
    for task, end in zip(tasks, ends, strict=True):
        [run] = await fleet.runs_of(task.id)
        assert collected(fleet, run, "KNOWLEDGE.md") == f"{end}\n"
    assert list((fleet.home / "worktrees").rglob(".codefleet")) == []


async def test_a_result_is_kept_with_the_files_and_commits_that_git_has(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    said = {
        "status": "completed",
        "summary": "The greeting is polite.",
        "files_changed": ["a.txt", "b.txt"],
        "commits": 7,
        "tests": "3 passed",
        "next_steps": ["Greet in French too"],
    }
    task = await add("Greet", "write hello.txt hello", f"result {json.dumps(said)}")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    assert run.result
    assert run.result.summary == "The greeting is polite."
    assert (run.result.files_changed, run.result.commits) == (("hello.txt",), 1)
    assert run.result.next_steps == ("Greet in French too",)


async def test_what_builds_on_a_result_is_told_of_it(fleet: Fleet, crew: Crew, add: Add) -> None:
    said = {"status": "completed", "summary": "One.\n```fleet\nfinish", "next_steps": ["two"]}
    first = await add("First", "write a.txt a", f"result {json.dumps(said)}")
    second = await add("Second", "write b.txt b", needs=[first.id])
    await crew.work()
    [run] = await fleet.runs_of(second.id)
    assert run.outcome is Outcome.SUBMITTED
    told = collected(fleet, run, "prompt.md")
    assert "> First: One.\n> ```fleet\n> finish\n> Files: a.txt\n> Next: two\n" in told


async def test_a_result_that_says_so_makes_a_run_without_changes_a_success(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Look", "result completed_no_changes It is right as it is", "finish Done")
    await crew.work()
    done = await fleet.get(task.id)
    assert (done.state, done.note) == (State.COMPLETED, "finished without changes")


async def test_a_result_does_not_make_up_for_missing_changes_or_a_crash(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    idle = await add("Talk", "result completed All done", "finish Done", max_attempts=1)
    dead = await add("Die", "result completed_no_changes Fine", "crash 0", max_attempts=1)
    await crew.work()
    assert (await fleet.get(idle.id)).reason is Reason.NO_CHANGES
    assert (await fleet.get(dead.id)).reason is Reason.CRASHED


async def test_the_result_of_an_earlier_run_does_not_count(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add(
        "Look",
        "result completed_no_changes Fine",
        "crash 1",
        "on attempt 2",
        "finish Done",
        max_attempts=2,
    )
    await crew.work()
    first, second = await fleet.runs_of(task.id)
    assert (first.result and first.result.status) is ReportedStatus.NO_CHANGES
    assert (second.result, second.reason) == (None, Reason.NO_CHANGES)


async def test_a_broken_result_is_told_and_harms_nothing(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Greet", "write a.txt a", 'result {"status": "compl')
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert "result.json: it is not JSON" in await warnings(fleet)


async def test_a_blocked_agent_keeps_its_work_and_goes_on_with_the_answer(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    said = {"status": "blocked", "question": "Which colour?", "options": ["red", "blue"]}
    task = await add(
        "Paint",
        "write can.txt full",
        f"result {json.dumps(said)}",
        "finish Blocked",
        "write wall.txt {{answer}}",
        "result completed Painted",
    )
    await crew.work()
    assert (await fleet.get(task.id)).state is State.ASKING
    [item] = await fleet.inbox()
    assert (item.text, item.options) == ("Which colour?", ("red", "blue"))
    await fleet.answer(task.id, "blue")
    await crew.work()
    first, second = await fleet.runs_of(task.id)
    assert first.evidence
    assert [change.path for change in first.evidence.changes] == ["can.txt"]
    assert (second.session, second.outcome) == (first.session, Outcome.SUBMITTED)
    assert (repo.read("main", "can.txt"), repo.read("main", "wall.txt")) == ("full\n", "blue\n")


async def test_a_question_in_the_file_is_answered_there_and_the_session_goes_on(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add(
        "Serve",
        "ask-in-file Which port? | 8080 | 9090",
        "write port.txt {{answer}}",
        "ask-in-file Which host?",
        "shell cat '.codefleet/Q&A.md' > asked.txt",
        "append host.txt {{answer}}",
    )
    await crew.work()
    [item] = await fleet.inbox()
    assert (item.text, item.options) == ("Which port?", ("8080", "9090"))
    await fleet.answer(task.id, "9090")
    await crew.work()
    [item] = await fleet.inbox()
    assert (item.text, item.options) == ("Which host?", ())
    await fleet.answer(task.id, "localhost")
    await crew.work()
    runs = await fleet.runs_of(task.id)
    assert [run.outcome for run in runs] == [Outcome.ASKED, Outcome.ASKED, Outcome.SUBMITTED]
    assert len({run.session for run in runs}) == 1
    assert repo.read("main", "port.txt") + repo.read("main", "host.txt") == "9090\nlocalhost\n"
    asked = repo.read("main", "asked.txt")
    assert "Which port?\n\n- 8080\n- 9090\n\n## Answer\n\n9090\n" in asked
    assert "Which host?\n\n## Answer\n\nlocalhost\n" in asked


async def test_notes_that_a_killed_runner_left_in_the_worktree_are_found_again(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Look", "note early", "ask Why?", "shell cat .codefleet/KNOWLEDGE.md > k.txt")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    folder = Path(str(run.worktree)) / ".codefleet"
    notes.write_all(folder, run.id, {"KNOWLEDGE.md": "late\n"})
    await fleet.answer(task.id, "so")
    await crew.work()
    assert collected(fleet, run, "KNOWLEDGE.md") == "late\n"
    assert repo.read("main", "k.txt") == "late\n"


async def test_notes_of_another_task_in_a_reused_worktree_are_not_taken_for_ones_own(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Look", "note mine", "ask Why?", "write a.txt a")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    folder = Path(str(run.worktree)) / ".codefleet"
    notes.write_all(folder, RunId("other.1"), {"KNOWLEDGE.md": "theirs\n"})
    await fleet.answer(task.id, "so")
    await crew.work()
    for each in await fleet.runs_of(task.id):
        assert collected(fleet, each, "KNOWLEDGE.md") == "mine\n"


async def test_a_session_that_goes_on_is_told_only_what_is_new(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Serve", "ask Which port?", "write port.txt {{answer}}")
    await crew.work()
    await fleet.answer(task.id, "9090")
    await crew.work()
    first, second = [collected(fleet, run, "prompt.md") for run in await fleet.runs_of(task.id)]
    assert "## Rules" in first
    assert "## Rules" not in second
    assert "```answer\n9090\n```" in second
    assert len(second) < 400


async def test_a_repo_with_a_folder_of_that_name_is_left_alone(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write(".codefleet/theirs.txt", "theirs\n")
    repo.commit("Have such a folder")
    task = await add("Greet", "note Ours", "write a.txt a")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    assert collected(fleet, run, "KNOWLEDGE.md") == "Ours\n"
    assert "`.codefleet-1/`" in collected(fleet, run, "prompt.md")
    listed = repo.git("ls-tree", "-r", "--name-only", "main").split()
    assert listed == [".codefleet/theirs.txt", "README.md", "a.txt", "src/till.py"]


async def test_notes_that_an_agent_forces_into_a_commit_do_not_land(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    await add(
        "Force",
        "note Secret plans",
        "write a.txt a",
        "shell rm .codefleet/.gitignore",
        "commit All of it",
    )
    await crew.work()
    listed = repo.git("ls-tree", "-r", "--name-only", "main").split()
    assert listed == ["README.md", "a.txt", "src/till.py"]


async def test_the_files_of_a_run_are_for_its_owner_alone_wherever_the_home_is(
    fleet: Fleet, home: Path, crew: Crew, add: Add
) -> None:
    home.chmod(0o755)
    task = await add("Open", "write a.txt a")
    await crew.work()
    assert (home / "runs" / f"{task.id}.1").stat().st_mode & 0o077 == 0
