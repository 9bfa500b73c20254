"""From the queue to the trunk: what a user sees when everything goes well, or does not."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from codefleet.domain.model import Draft, Task
from codefleet.domain.routing import Route
from codefleet.domain.scheduling import Why
from codefleet.domain.words import Complexity, Outcome, Reason, State
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery, Write
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]
StateOf = Callable[[Task], Awaitable[State]]


async def test_a_task_ends_on_the_trunk_with_its_files_in_the_checkout(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Greet", "write hello.txt hello")
    await crew.work()
    done = await fleet.get(task.id)
    assert done.state is State.COMPLETED
    assert done.landed == repo.git("rev-parse", "main")
    assert (repo.path / "hello.txt").read_text() == "hello\n"
    assert repo.git("status", "--porcelain") == ""


async def test_each_file_that_the_agent_changes_is_told_once_and_before_the_run_ends(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    steps = ("write src/a.py one", "append src/a.py two", "write b.txt b", "delete b.txt")
    task = await add("Change", *steps)
    await crew.work()
    told = await fleet.events(task=task.id, kinds=["run.changed", "run.ended"])
    assert [(each.kind, each.data.get("path"), each.data.get("change")) for each in told] == [
        ("run.changed", "src/a.py", "added"),
        ("run.changed", "b.txt", "added"),
        ("run.changed", "b.txt", "deleted"),
        ("run.ended", None, None),
    ]


async def test_tasks_land_in_the_order_of_their_needs(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    await fleet.add(
        [
            Draft(title="Last", needs=("b",), prompt=script("append log.txt c")),
            Draft(title="Middle", name="b", needs=("a",), prompt=script("append log.txt b")),
            Draft(title="First", name="a", priority=1, prompt=script("append log.txt a")),
        ]
    )
    await crew.work(agents=3)
    assert repo.read("main", "log.txt") == "a\nb\nc\n"
    assert repo.git("log", "--first-parent", "--format=%s", "main").splitlines()[:3] == [
        "Last",
        "Middle",
        "First",
    ]


async def test_a_failed_check_sends_the_work_back_with_the_log(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add(
        "Guess",
        "write guess.txt wrong",
        "on attempt 2",
        "write guess.txt right",
        checks=["grep -q right guess.txt"],
    )
    await crew.work()
    first, second = await fleet.runs_of(task.id)
    assert first.reason is Reason.CHECKS_FAILED
    assert second.outcome is Outcome.SUBMITTED
    assert repo.read("main", "guess.txt") == "right\n"
    prompt = (fleet.home / "runs" / second.id / "prompt.md").read_text()
    assert "grep -q right guess.txt` failed" in prompt


async def test_after_the_last_attempt_the_task_fails_and_what_needs_it_says_so(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Hopeless", "write x.txt x", checks=["false"], max_attempts=2)
    after = await add("After it", "write y.txt y", needs=[task.id])
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason, failed.attempts) == (
        State.FAILED,
        Reason.CHECKS_FAILED,
        2,
    )
    hold = (await fleet.why([await fleet.get(after.id)]))[after.id]
    assert (hold.why, hold.behind) == (Why.HELD_UP, (task.id,))
    assert [held.id for held in (await fleet.details(task.id)).holds_up] == [after.id]


async def test_an_agent_that_says_done_and_did_nothing_is_not_believed(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Pretend", "finish All done!", max_attempts=1)
    await crew.work()
    assert (await fleet.get(task.id)).reason is Reason.NO_CHANGES


async def test_a_task_that_rightly_changes_nothing_completes(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, state_of: StateOf
) -> None:
    before = repo.git("rev-parse", "main")
    task = await add("Look", "finish --no-changes It is right as it is")
    await crew.work()
    assert await state_of(task) is State.COMPLETED
    assert repo.git("rev-parse", "main") == before


async def test_a_question_waits_in_the_inbox_and_its_answer_resumes_the_session(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, state_of: StateOf
) -> None:
    task = await add(
        "Paint", "write can.txt full", "ask Which colour? | red | blue", "write wall.txt {{answer}}"
    )
    await crew.work()
    assert await state_of(task) is State.ASKING
    (item,) = await fleet.inbox()
    assert (item.task, item.text, item.options) == (task.id, "Which colour?", ("red", "blue"))
    await fleet.answer(task.id, "blue")
    await crew.work()
    assert repo.read("main", "wall.txt") == "blue\n"
    first, second = await fleet.runs_of(task.id)
    assert (first.outcome, second.session) == (Outcome.ASKED, first.session)
    assert await fleet.inbox() == []


async def test_a_limit_is_waited_for_and_burns_no_attempt(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Limited", "write a.txt a", "limit 1 Come back later", "write b.txt b")
    await crew.work()
    first, second = await fleet.runs_of(task.id)
    assert (first.outcome, first.reason) == (Outcome.RELEASED, Reason.QUOTA)
    assert second.session == first.session
    assert (await fleet.get(task.id)).attempts == 0
    assert repo.read("main", "b.txt") == "b\n"


async def test_overlapping_scopes_never_run_together_and_the_reason_is_shown(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    first = await add("Inside", f"wait until {gate}", "append log.txt a", scope=["src/**"])
    second = await add("Also inside", "append log.txt b", scope=["src/till.py"])
    apart = await add("Elsewhere", "write doc.txt c", scope=["docs/**"])
    seen: list[str] = []

    async def the_others_ran() -> bool:
        done = (await fleet.get(apart.id)).state is State.COMPLETED
        status = await fleet.status()
        seen.extend(waiting.text for waiting in status.waiting if waiting.task.id == second.id)
        return done

    loop = crew.loop(agents=3)
    running = asyncio.create_task(loop.run())
    await crew.wait_for(the_others_ran)
    assert (await fleet.get(second.id)).runs == 0
    assert f"waits for {first.id}: src/till.py overlaps its scope src/**" in seen
    gate.touch()

    async def both_done() -> bool:
        return (await fleet.get(second.id)).state is State.COMPLETED

    await crew.wait_for(both_done)
    loop.stop()
    await running
    assert repo.read("main", "log.txt") == "a\nb\n"


async def test_the_agent_is_told_to_resolve_what_conflicts_and_then_lands(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    task = await add(
        "Rewrite",
        "write README.md ours",
        f"wait until {gate}",
        "on attempt 2",
        "write README.md both",
    )
    loop = crew.loop()
    running = asyncio.create_task(loop.run())

    async def it_has_written() -> bool:
        runs = await fleet.runs_of(task.id)
        return bool(runs and runs[0].offset)

    await crew.wait_for(it_has_written)
    repo.write("README.md", "theirs\n")
    repo.commit("Somebody else was faster")
    gate.touch()

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert repo.read("main", "README.md") == "both\n"
    assert [run.outcome for run in await fleet.runs_of(task.id)] == ["submitted", "submitted"]
    prompt = (fleet.home / "runs" / f"{task.id}.2" / "prompt.md").read_text()
    assert "resolve the conflict markers in these files" in prompt
    assert "\n- README.md\n" in prompt


DELETES = ("delete src/till.py", "write other.txt x")
REDRAWS = ("shell printf '\\0agent' > logo.bin",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "humans", "steps"),
    [
        pytest.param("logo.bin", b"\0human", REDRAWS, id="not text"),
        pytest.param("src/till.py", b"TOTAL = 9\n", DELETES, id="deleted here, edited there"),
    ],
)
async def test_a_conflict_without_markers_is_not_passed_over(
    fleet: Fleet,
    repo: SampleRepo,
    crew: Crew,
    add: Add,
    path: str,
    humans: bytes,
    steps: Sequence[str],
) -> None:
    (repo.path / "logo.bin").write_bytes(b"\0logo")
    repo.commit("a logo")
    settle = (f"shell echo settled > {path}", f"shell git add {path}")
    later = ("on attempt 2", "write note.txt x", "on attempt 3", *settle)
    task = await add("Work", *steps, *later)
    await crew.work(landing="review")
    (repo.path / path).write_bytes(humans)
    repo.commit("by a human")
    await fleet.land(task.id)
    await crew.work(landing="queue")
    _, careless, careful = await fleet.runs_of(task.id)
    assert (careless.outcome, careless.reason) == (Outcome.FAILED, Reason.MERGE_CONFLICT)
    assert careless.note == f"the conflict is not resolved in {path}"
    assert careful.outcome is Outcome.SUBMITTED
    assert repo.read("main", path) == "settled\n"


@pytest.mark.slow
async def test_a_side_taken_on_purpose_is_a_conflict_resolved(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    (repo.path / "logo.bin").write_bytes(b"\0logo")
    repo.commit("a logo")
    task = await add("Work", *REDRAWS, "on attempt 2", "shell git add logo.bin")
    await crew.work(landing="review")
    (repo.path / "logo.bin").write_bytes(b"\0human")
    repo.commit("by a human")
    await fleet.land(task.id)
    await crew.work(landing="queue")
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "logo.bin") == "\0agent"


async def test_checks_that_fail_only_together_with_the_trunk_send_the_work_back(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    """Two changes that are right alone and wrong together: the lane finds it, not the user."""
    one = "sh -c 'test $(ls *.one 2>/dev/null | wc -l) -le 1'"
    gate = fleet.home / "gate"
    await add("One", "write a.one x", checks=[one])
    other = await add(
        "Other",
        "write b.one x",
        f"wait until {gate}",
        "on attempt 2",
        "delete b.one",
        "write b.two x",
        checks=[one],
    )
    loop = crew.loop()
    running = asyncio.create_task(loop.run())

    async def one_has_landed() -> bool:
        return "a.one" in repo.git("ls-tree", "--name-only", "main")

    await crew.wait_for(one_has_landed)
    gate.touch()

    async def done() -> bool:
        return (await fleet.get(other.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    kinds = [event.kind for event in await fleet.events(task=other.id)]
    assert "task.bounced" in kinds
    assert "b.two" in repo.git("ls-tree", "--name-only", "main")


@pytest.mark.parametrize("landing", ["review", "branch"])
async def test_how_work_lands_is_the_repos_choice(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, landing: str
) -> None:
    before = repo.git("rev-parse", "main")
    task = await add("Careful", "write new.txt new")
    await crew.work(landing=landing)
    held = await fleet.get(task.id)
    assert repo.git("rev-parse", "main") == before
    assert repo.read(str(held.branch), "new.txt") == "new\n"
    if landing == "branch":
        assert held.state is State.COMPLETED
        return
    assert held.state is State.REVIEW
    assert [item.kind for item in await fleet.inbox()] == ["review"]
    await fleet.land(task.id)
    await crew.work(landing=landing)
    assert repo.read("main", "new.txt") == "new\n"


async def test_rejected_work_goes_back_to_the_agent_with_the_reason(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Draft", "write d.txt rough", "on attempt 2", "write d.txt fine")
    await crew.work(landing="review")
    await fleet.reject(task.id, "too rough")
    await crew.work(landing="review")
    await fleet.land(task.id)
    await crew.work(landing="review")
    assert repo.read("main", "d.txt") == "fine\n"
    assert "> too rough" in (fleet.home / "runs" / f"{task.id}.2" / "prompt.md").read_text()


async def test_two_agents_that_change_the_same_lines_are_seen_while_they_work(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    left = await add("Left", "write README.md left", f"wait until {gate}")
    right = await add("Right", "write README.md right", f"wait until {gate}")

    async def seen() -> bool:
        return bool((await fleet.status()).conflicts)

    await crew.until(crew.loop(radar_s=0.1), seen)
    (conflict,) = (await fleet.status()).conflicts
    assert set(conflict.tasks) == {left.id, right.id}
    assert conflict.paths == ("README.md",)


async def test_a_run_over_its_time_is_stopped_and_its_work_kept(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Slow", "write part.txt half", "hang", timeout_s=0.5, max_attempts=1)
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.TIMEOUT)
    assert repo.read(str(failed.branch), "part.txt") == "half\n"


async def test_a_run_over_its_budget_is_stopped_and_goes_to_a_human(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add(
        "Costly", "write a.txt a", "usage input=10 cost=3.5", "hang", budget={"usd": 1.0}
    )
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.BUDGET)


async def test_a_task_whose_coder_is_no_longer_installed_goes_to_a_human_at_once(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    task = await add("Who?")
    gone = task.evolve(coder="nobody", version=task.version + 1)
    await fleet.core.store.write(Write(tasks=[gone]))
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.state, failed.reason) == (State.FAILED, Reason.CODER_MISSING)


async def test_a_paused_fleet_starts_nothing_until_it_is_resumed(
    fleet: Fleet, crew: Crew, add: Add, state_of: StateOf
) -> None:
    task = await add("Later", "write a.txt a")
    await fleet.pause()
    await crew.work()
    assert await state_of(task) is State.PENDING
    await fleet.resume()
    await crew.work()
    assert await state_of(task) is State.COMPLETED


async def test_pausing_a_running_task_stops_its_agent_and_resuming_goes_on_where_it_was(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    gate = fleet.home / "gate"
    task = await add("Interrupted", "append log.txt a", f"wait until {gate}", "append log.txt b")
    loop = crew.loop()
    running = asyncio.create_task(loop.run())

    async def has_begun() -> bool:
        runs = await fleet.runs_of(task.id)
        return bool(runs and runs[0].offset)

    async def has_stopped() -> bool:
        return (await fleet.get(task.id)).state is State.PENDING

    await crew.wait_for(has_begun)
    await fleet.pause(task.id)
    await crew.wait_for(has_stopped)
    gate.touch()
    await fleet.resume(task.id)

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert repo.read("main", "log.txt") == "a\nb\n"


@pytest.mark.slow
async def test_changed_settings_take_effect_without_a_restart_and_bad_ones_do_not(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    loop = crew.loop()
    running = asyncio.create_task(loop.run())
    settings = fleet.home / "fleet.toml"

    async def told(kind: str) -> bool:
        return any(event.kind == kind for event in await fleet.events())

    settings.write_text('landing = "nonsense"\n')
    await add("One", "write a.txt a")
    await crew.wait_for(lambda: told("config.refused"))
    settings.write_text('landing = "branch"\n')
    await crew.wait_for(lambda: told("task.completed"))
    task = await add("Two", "write b.txt b")

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert "b.txt" not in repo.git("ls-tree", "--name-only", "main")


async def test_the_trunk_that_the_settings_name_is_where_work_lands(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.git("branch", "next")
    await add("Work", "write new.txt new")
    await crew.work(trunk="next")
    assert repo.read("next", "new.txt") == "new\n"
    assert "new.txt" not in repo.git("ls-tree", "--name-only", "main")


@pytest.mark.slow
async def test_where_work_stays_on_branches_a_task_builds_on_the_branches_of_its_needs(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    first = await add("First", "write a.txt a")
    second = await add("Second", "write b.txt b")
    third = await add("Third", "shell cat a.txt b.txt > c.txt", needs=[first.id, second.id])
    await crew.work(landing="branch")
    done = await fleet.get(third.id)
    assert repo.read(str(done.branch), "c.txt") == "a\nb\n"
    (run,) = await fleet.runs_of(third.id)
    assert run.evidence
    assert [change.path for change in run.evidence.changes] == ["c.txt"]


@pytest.mark.slow
async def test_the_set_up_command_runs_for_agents_and_for_the_lane(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write(".gitignore", "deps/\n")
    repo.commit("Ignore deps")
    gate = fleet.home / "gate"
    await add("One", "write a.txt a", checks=["test -f deps/ready"])
    await add("Two", "write b.txt b", f"wait until {gate}", checks=["test -f deps/ready"])

    async def one_has_landed() -> bool:
        return "a.txt" in repo.git("ls-tree", "--name-only", "main")

    loop = crew.loop(setup="sh -c 'mkdir -p deps && touch deps/ready'")
    running = asyncio.create_task(loop.run())
    await crew.wait_for(one_has_landed)
    gate.touch()

    async def two_has_landed() -> bool:
        return "b.txt" in repo.git("ls-tree", "--name-only", "main")

    await crew.wait_for(two_has_landed)
    loop.stop()
    await running


@pytest.mark.slow
async def test_rules_choose_the_coder_and_model_once_for_all_runs_of_a_task(
    fleet: Fleet, crew: Crew, add: Add
) -> None:
    rules = [
        Route(name="hard", complexity=(Complexity.LARGE,), model="strong"),
        Route(name="rest", model="cheap"),
    ]
    hard = await add("Hard", "crash", "on attempt 2", "write a.txt a", complexity="large")
    easy = await add("Easy", "write b.txt b")
    chosen = await add("Chosen", "write c.txt c", model="mine")
    await crew.work(route=tuple(rules))
    found = {task.title: task for task in await fleet.list(TaskQuery())}
    assert [(t.title, t.route, t.coder, t.model) for t in found.values()] == [
        ("Hard", "hard", "scripted", "strong"),
        ("Easy", "rest", "scripted", "cheap"),
        ("Chosen", "rest", "scripted", "mine"),
    ]
    assert {run.coder for task in (hard, easy, chosen) for run in await fleet.runs_of(task.id)} == {
        "scripted"
    }


async def test_a_repo_may_name_the_coder_of_its_own_tasks(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    argv = '["touch", "made.txt"]'
    (fleet.home / "fleet.toml").write_text(f"[coders.command]\nargv = {argv}\n")
    repo.write("fleet.toml", 'coder = "command"\n')
    repo.commit("Choose a coder")
    task = await add("Make it")
    await crew.work()
    assert [run.coder for run in await fleet.runs_of(task.id)] == ["command"]
    assert "made.txt" in repo.git("ls-tree", "--name-only", "main")
