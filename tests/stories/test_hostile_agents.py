"""Agents that try to decide what only humans may: by tools, by the command line, by git."""

import asyncio
import hmac
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from codefleet.domain.access import AgentOf
from codefleet.domain.errors import FleetError, Refused
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Run, RunnerId, Task
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import State
from codefleet.doors.mcp.server import TOOLSETS, assemble
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import TaskQuery, Write
from codefleet.runner.context import Context
from codefleet.runner.diff import diff_of, diff_text, work_of
from codefleet.runner.landing.approval import approve
from codefleet.runner.process.leftovers import put_mark
from tests.doors.mcp.conftest import Caller
from tests.gitrepo import SampleRepo
from tests.script import script
from tests.stories.conftest import BOUND_S, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
AtWork = Callable[..., AbstractAsyncContextManager["Hostile"]]


class Hostile:
    """The agent of a live run, which has every tool there is, and those of agents separately."""

    def __init__(self, run: Run, tools: Caller, own: Caller, go: Path) -> None:
        self.run, self.tools, self.own, self._go = run, tools, own, go

    def end(self) -> None:
        """Let the agent finish its own work."""
        self._go.touch()


@pytest.fixture
def at_work(fleet: Fleet, crew: Crew, add: Add, tmp_path: Path) -> AtWork:
    """An agent at work in its own run, until the test ends it."""

    @asynccontextmanager
    async def begun(**fields: object) -> AsyncIterator[Hostile]:
        go = tmp_path / "go"
        steps = ("write own.txt mine", "commit Own work", f"wait until {go} 60")
        task = await add("Own work", *steps, **fields)
        loop = crew.loop(3)
        running = asyncio.create_task(loop.run())
        try:
            await crew.wait_for(lambda: _committed(fleet, task))
            (run,) = await fleet.runs_of(task.id)
            context = ServerContext(fleet.acting_as(AgentOf(run=run.id)))
            wide = assemble(context, [name for name in TOOLSETS if name != "agent"], "1")
            async with Client(wide) as tools, Client(assemble(context, ["agent"], "1")) as own:
                yield Hostile(run, Caller(tools), Caller(own), go)
        finally:
            go.touch()
            loop.stop()
            await asyncio.wait_for(running, BOUND_S)

    return begun


async def _committed(fleet: Fleet, task: Task) -> bool:
    """Has the agent committed, and is its run recorded with its branch?"""
    runs = await fleet.runs_of(task.id)
    return bool(runs and runs[-1].branch and (Path(str(runs[-1].worktree)) / "own.txt").exists())


async def _ended(fleet: Fleet, task: Task | str) -> bool:
    name = task if isinstance(task, str) else task.id
    return (await fleet.get(name)).state.is_final


async def in_review(fleet: Fleet, crew: Crew, add: Add) -> Task:
    """Work of another task, which waits for a human."""
    task = await add("Victim", "write victim.txt unseen", "commit Work", lands="review")
    await crew.work()
    found = await fleet.get(task.id)
    assert (found.state, found.approved) == (State.REVIEW, False)
    return found


async def test_work_that_waits_for_review_is_no_base_for_an_agents_task(
    fleet: Fleet, crew: Crew, repo: SampleRepo, add: Add, at_work: AtWork
) -> None:
    victim = await in_review(fleet, crew, add)
    branch, commit = str(victim.branch), repo.sha(str(victim.branch))
    where = {"repo_path": str(repo.path)}
    stage = {"name": "one", "prompt": script("write x.txt x")}
    async with at_work() as agent:
        call = agent.tools
        for base in (branch, f"refs/heads/{branch}", commit, commit[:12], f"{branch}~0"):
            child = {"title": "Child", "prompt": script("write x.txt x"), "base": base}
            for tools in (agent.tools, agent.own):
                refused = await tools.refused("create_task", tasks=[child])
                assert "neither on main nor on the branch of" in refused["problem"]
            worker = {"task_name": "Child", "prompt": "x", "base_ref": base, **where}
            assert await call.refused("create_worker", landing="review", **worker)
            flow = {"name": "flow", "task_prompt": "x", "stages": [stage], "base_ref": base}
            assert await call.refused("create_workflow", **flow, **where)
        agent.end()
        await crew.wait_for(lambda: _ended(fleet, agent.run.task))
    assert "victim.txt" not in repo.git("ls-tree", "--name-only", "main").split()


async def test_a_base_is_the_commit_that_was_checked_wherever_its_branch_moves(
    fleet: Fleet, crew: Crew, repo: SampleRepo, add: Add, at_work: AtWork
) -> None:
    victim = await in_review(fleet, crew, add)
    async with at_work() as agent:
        repo.git("branch", "decoy", "main")
        child = {"title": "Child", "prompt": script("write x.txt x"), "base": "decoy"}
        made = await agent.tools("create_task", tasks=[child])
        task = await fleet.get(made["tasks"][0]["task_id"])
        assert task.base == repo.sha("main")
        repo.git("branch", "--force", "decoy", str(victim.branch))
        await crew.wait_for(lambda: _ended(fleet, task))
        agent.end()
    assert (await fleet.get(task.id)).landed
    assert "victim.txt" not in repo.git("ls-tree", "--name-only", "main").split()


async def test_a_base_is_checked_again_where_the_work_starts(
    fleet: Fleet, crew: Crew, repo: SampleRepo, add: Add
) -> None:
    victim = await in_review(fleet, crew, add)
    root = await add("Root", "write root.txt x")
    stray = await add("Stray", "write x.txt x", base=repo.sha(str(victim.branch)), max_attempts=1)
    smuggled = stray.evolve(parent=root.id, version=stray.version + 1)
    await fleet.core.store.write(Write(tasks=[smuggled]))
    await crew.work()
    found = await fleet.get(stray.id)
    assert found.state is State.FAILED
    assert "neither on main nor on the branch of" in found.note
    assert "victim.txt" not in repo.git("ls-tree", "--name-only", "main").split()


@pytest.mark.parametrize("how", ["merge", "reset", "merge of a part", "without a trace"])
async def test_work_that_waits_for_review_lands_through_no_merge_of_an_agents(
    fleet: Fleet, crew: Crew, repo: SampleRepo, add: Add, how: str
) -> None:
    steps = ("write victim.txt unseen", "commit Work", "write more.txt unseen", "commit More")
    victim = await add("Victim", *steps, lands="review")
    await crew.work()
    branch = (await fleet.get(victim.id)).branch
    gone = f"update-ref -d refs/heads/{branch} && git update-ref -d refs/fleet/runs/{victim.id}.1"
    git = {
        "merge": f"merge --no-ff --no-edit {branch}",
        "reset": f"reset --hard {branch}",
        "merge of a part": f"merge --no-ff --no-edit {branch}~1",
        "without a trace": f"reset --hard {branch} && git {gone}",
    }[how]
    sly = await add("Sly", f"shell git {git}", "write own.txt mine")
    await crew.work()
    found = await fleet.get(sly.id)
    assert (found.state, found.approved) == (State.REVIEW, False)
    assert f"nobody has approved: of {victim.id} (Victim)" in found.note
    assert repo.git("ls-tree", "--name-only", "main").split() == ["README.md", "src"]
    await approve(Context(fleet), sly.id)
    await crew.work()
    assert "victim.txt" in repo.git("ls-tree", "--name-only", "main").split()


async def test_what_an_agent_let_others_make_for_it_lands_with_its_own_work(
    fleet: Fleet, crew: Crew, repo: SampleRepo, at_work: AtWork
) -> None:
    where = {"repo_path": str(repo.path)}
    async with at_work() as agent:
        worker = {"task_name": "Part", "prompt": script("write part.txt x"), **where}
        made = await agent.tools("create_worker", **worker)
        await crew.wait_for(lambda: _is(fleet, made["worker_id"], State.COMPLETED))
        branch = (await fleet.get(made["worker_id"])).branch
        repo.git("merge", "--no-edit", str(branch), at=Path(str(agent.run.worktree)))
        agent.end()
        await crew.wait_for(lambda: _is(fleet, agent.run.task, State.COMPLETED))
    assert "part.txt" in repo.git("ls-tree", "--name-only", "main").split()


async def test_what_the_agent_of_a_reviewed_task_creates_is_reviewed_too(
    fleet: Fleet, crew: Crew, repo: SampleRepo, at_work: AtWork
) -> None:
    async with at_work(lands="review") as agent:
        own = {"title": "Child", "prompt": script("write x.txt x"), "base": agent.run.branch}
        plain = {"title": "Plain", "prompt": script("write y.txt y")}
        made = await agent.tools("create_task", tasks=[own, plain])
        ids = [each["task_id"] for each in made["tasks"]]
        agent.end()
        for name in (*ids, agent.run.task):
            await crew.wait_for(partial(_is, fleet, name, State.REVIEW))
    assert [item.kind for item in await fleet.inbox()] == ["review"] * 3
    assert repo.git("ls-tree", "--name-only", "main").split() == ["README.md", "src"]


async def test_a_task_that_began_with_its_parents_work_lands_after_its_parent(
    fleet: Fleet, crew: Crew, repo: SampleRepo, at_work: AtWork
) -> None:
    async with at_work() as agent:
        child = {"title": "Child", "prompt": script("write x.txt x"), "base": agent.run.branch}
        made = await agent.tools("create_task", tasks=[child])
        name = made["tasks"][0]["task_id"]
        await crew.wait_for(lambda: _notes(fleet, name, f"waits for {agent.run.task}"))
        assert "own.txt" not in repo.git("ls-tree", "--name-only", "main").split()
        agent.end()
        await crew.wait_for(lambda: _is(fleet, name, State.COMPLETED))
    order = repo.git("log", "--first-parent", "--format=%s", "--reverse", "main").splitlines()
    assert order[1:] == ["Own work", "Child"]


async def test_a_task_that_began_with_cancelled_work_waits_for_a_human(
    fleet: Fleet, crew: Crew, repo: SampleRepo, at_work: AtWork
) -> None:
    async with at_work() as agent:
        child = {"title": "Child", "prompt": script("write x.txt x"), "base": agent.run.branch}
        made = await agent.tools("create_task", tasks=[child])
        name = made["tasks"][0]["task_id"]
        await crew.wait_for(lambda: _notes(fleet, name, f"waits for {agent.run.task}"))
        await fleet.cancel(agent.run.task)
        await crew.wait_for(lambda: _notes(fleet, name, "that has not landed"))
        assert [item.id for item in await fleet.inbox()] == [name]
        assert "own.txt" not in repo.git("ls-tree", "--name-only", "main").split()
        await fleet.land(name)
        await crew.wait_for(lambda: _is(fleet, name, State.COMPLETED))


async def test_work_that_an_agent_took_back_lands_through_no_child(
    fleet: Fleet, crew: Crew, repo: SampleRepo, at_work: AtWork
) -> None:
    async with at_work() as agent:
        worktree = Path(str(agent.run.worktree))
        repo.write("hidden.txt", "not to be reviewed", at=worktree)
        hidden = repo.commit("Hidden", at=worktree)
        child = {"title": "Child", "prompt": script("write x.txt x"), "base": hidden}
        made = await agent.tools("create_task", tasks=[child])
        name = made["tasks"][0]["task_id"]
        await crew.wait_for(lambda: _notes(fleet, name, f"waits for {agent.run.task}"))
        repo.git("reset", "--quiet", "--hard", "HEAD~1", at=worktree)
        agent.end()
        await crew.wait_for(lambda: _is(fleet, agent.run.task, State.COMPLETED))
        await crew.wait_for(lambda: _notes(fleet, name, "that has not landed"))
    found = await fleet.get(name)
    assert (found.state, found.approved) == (State.REVIEW, False)
    assert "hidden.txt" not in repo.git("ls-tree", "--name-only", "main").split()


async def test_a_review_shows_all_that_would_land_with_what_the_work_began_with(
    fleet: Fleet, crew: Crew, repo: SampleRepo, at_work: AtWork
) -> None:
    async with at_work(lands="review") as agent:
        worktree = Path(str(agent.run.worktree))
        repo.write("hidden.txt", "not to be reviewed", at=worktree)
        hidden = repo.commit("Hidden", at=worktree)
        child = {"title": "Child", "prompt": script("write x.txt x"), "base": hidden}
        made = await agent.tools("create_task", tasks=[child])
        name = made["tasks"][0]["task_id"]
        await crew.wait_for(lambda: _is(fleet, name, State.REVIEW))
        repo.git("reset", "--quiet", "--hard", "HEAD~1", at=worktree)
        agent.end()
        await crew.wait_for(lambda: _is(fleet, agent.run.task, State.REVIEW))
    shown = {change.path for change in (await work_of(fleet, name)).changes}
    assert shown == {"hidden.txt", "own.txt", "x.txt"}
    (run,) = await fleet.runs_of(name)
    for text in (await diff_text(fleet, name), await diff_of(fleet, run)):
        assert "+not to be reviewed" in text
    assert "that has not landed" in (await fleet.inbox())[0].text


async def test_work_that_a_human_keeps_on_its_branch_lands_through_no_agents_needs(
    fleet: Fleet, crew: Crew, repo: SampleRepo, add: Add, at_work: AtWork
) -> None:
    kept = await add("Kept", "write kept.txt x", "commit Work", lands="branch")
    await crew.work()
    async with at_work() as agent:
        child = {"title": "Child", "prompt": script("write x.txt x"), "needs": [kept.id]}
        made = await agent.tools("create_task", tasks=[child])
        await crew.wait_for(lambda: _is(fleet, made["tasks"][0]["task_id"], State.COMPLETED))
        agent.end()
    assert "kept.txt" not in repo.git("ls-tree", "--name-only", "main").split()


async def test_an_agent_gives_its_children_no_command_coder_or_model_of_its_own_choice(
    fleet: Fleet, repo: SampleRepo, at_work: AtWork
) -> None:
    where = {"repo_path": str(repo.path)}
    async with at_work() as agent:
        call = agent.tools
        for liberty in (
            {"checks": ["sh -c 'touch stolen'"]},
            {"coder": "command"},
            {"coder": "claude"},
            {"fallback": "command"},
            {"model": "the-dearest"},
            {"options": {"argv": ["sh"]}},
            {"options": {"env": {"PATH": "."}}},
            {"lands": "queue"},
        ):
            for tools in (agent.tools, agent.own):
                await tools.refused("create_task", tasks=[{"title": "Child", **liberty}])
        stage = {"name": "one", "prompt": "x", "checks": ["sh -c true"]}
        flow = {"name": "flow", "task_prompt": "x"}
        assert await call.refused("create_workflow", **flow, stages=[stage], **where)
        worker = {"task_name": "Child", "prompt": "x", **where}
        assert await call.refused("create_worker", executor="command", **worker)
        assert await call.refused("team_spawn", prompt="x", coder="command")
        assert await fleet.list(TaskQuery(parents=[agent.run.task])) == []
        agent.end()


async def test_an_agent_may_choose_what_the_owner_lists(
    fleet: Fleet, home: Path, at_work: AtWork
) -> None:
    lists = ("spawn_coders = ['claude']", "spawn_models = ['haiku']", "spawn_checks = ['test *']")
    (home / "fleet.toml").write_text("\n".join(lists))
    async with at_work(checks=["git status"]) as agent:
        listed = {"coder": "claude", "model": "haiku", "checks": ["test -f x.txt", "git status"]}
        made = await agent.tools("create_task", tasks=[{"title": "Child", **listed}])
        child = await fleet.get(made["tasks"][0]["task_id"])
        assert (child.coder, child.model, len(child.checks)) == ("claude", "haiku", 2)
        await agent.tools("cancel", task_id=child.id)
        agent.end()


async def test_an_agents_task_has_no_more_than_its_parent(fleet: Fleet, at_work: AtWork) -> None:
    async with at_work(priority=2, max_attempts=2, timeout_s=50.0) as agent:
        greedy = {"title": "Greedy", "priority": 5, "max_attempts": 99, "timeout_s": 1e6}
        modest = {"title": "Modest", "priority": 1, "max_attempts": 1, "timeout_s": 5.0}
        made = await agent.tools("create_task", tasks=[greedy, modest, {"title": "Plain"}])
        tasks = [await fleet.get(each["task_id"]) for each in made["tasks"]]
        given = [(task.priority, task.max_attempts, task.timeout_s, task.coder) for task in tasks]
        assert given == [
            (2, 2, 50.0, "scripted"),
            (1, 1, 5.0, "scripted"),
            (2, 2, 50.0, "scripted"),
        ]
        for task in tasks:
            await fleet.cancel(task.id)
        agent.end()


async def test_an_agent_reads_its_own_runs_and_those_it_needs_or_created(
    fleet: Fleet, crew: Crew, add: Add, at_work: AtWork
) -> None:
    needed = await add("Needed", "write needed.txt x")
    other = await add("Other", "write other.txt x")
    await crew.work()
    async with at_work(needs=[needed.id]) as agent:
        read = agent.tools.client.read_resource
        for part in ("log", "diff", "evidence"):
            assert await read(f"fleet://runs/{agent.run.id}/{part}")
            assert await read(f"fleet://runs/{needed.id}.1/{part}")
            with pytest.raises(MCPError, match="is not a task that"):
                await read(f"fleet://runs/{other.id}.1/{part}")
        told = {"worker_id": other.id, "include_logs": True}
        assert await agent.tools.refused("collect_worker_result", **told)
        agent.end()


DECISIONS = (
    *("land {victim}", "reject {victim} no", "answer {asking} yes", "edit {victim} --priority 5"),
    *("send {victim} hello", "pause", "resume", "pause {victim}", "cancel {victim}"),
    *("retry {failed}", "config set landing queue", "config set agents 9 --repo", "init"),
    *("gc", "reset --yes", "archive --older-than 0d", "import {file}", "run --until-idle"),
    *("migrate --to sqlite:///{file}.db", "coders wake scripted"),
    *("diff {victim}", "show {victim}", "export -"),
    *("add Sly --check true", "add Sly --coder command", "add Sly --model dear"),
)
ESCAPES = (
    "",
    "env -u FLEET_RUN -u FLEET_TOKEN_FILE -u FLEET_TASK",
    "env -i PATH=$PATH",
    "setsid --wait env -i PATH=$PATH",
)


def attempts(home: Path, out: Path, commands: Sequence[str], escapes: Sequence[str]) -> list[str]:
    """Steps of a script that try every command in every way, and record how each ended."""
    fleet = f"{sys.executable} -m codefleet --home {home}"
    return [
        f"shell {way} {fleet} {command} </dev/null >>{out}.log 2>&1; echo $? {command} >>{out}"
        for way in escapes
        for command in commands
    ]


async def seen(fleet: Fleet, *tasks: Task) -> list[tuple[Any, ...]]:
    found = [await fleet.get(task.id) for task in tasks]
    return [(task.state, task.approved, task.paused, task.priority) for task in found]


@pytest.mark.slow
async def test_the_command_line_inside_a_run_decides_nothing_for_humans(
    fleet: Fleet, crew: Crew, home: Path, repo: SampleRepo, add: Add, tmp_path: Path
) -> None:
    victim = await in_review(fleet, crew, add)
    failed = await add("Failed", "broke no", max_attempts=1)
    asking = await add("Asking", "ask Which?")
    await crew.work()
    before = await seen(fleet, victim, failed, asking)
    out, file = tmp_path / "codes", tmp_path / "file"
    names = {"victim": victim.id, "failed": failed.id, "asking": asking.id, "file": file}
    commands = [each.format(**names) for each in DECISIONS]
    file.touch()
    steps = attempts(home, out, commands, ESCAPES)
    mine = await add("Hostile", *steps, "write own.txt x")
    settings = (home / "fleet.toml").exists()
    await Crew(fleet, bound_s=300).work()
    told = out.read_text().splitlines()
    assert [line for line in told if not line.startswith("4 ")] == []
    assert len(told) == len(commands) * len(ESCAPES)
    assert await seen(fleet, victim, failed, asking) == before
    assert (home / "fleet.toml").exists() == settings
    assert not (repo.path / "fleet.toml").exists()
    assert [task.title for task in await fleet.list(TaskQuery(parents=[mine.id]))] == []


async def test_inside_a_run_the_command_line_reads_and_adds_children(
    fleet: Fleet, crew: Crew, home: Path, add: Add, tmp_path: Path
) -> None:
    out = tmp_path / "codes"
    commands = (
        "list --json",
        "status --json",
        "inbox",
        "config show",
        "show $FLEET_TASK",
        "diff $FLEET_TASK",
        "add Child --not-before +9h",
    )
    mine = await add(
        "Honest", *attempts(home, out, commands, ["env -u FLEET_RUN"]), "write a.txt x"
    )
    await crew.until(crew.loop(), lambda: _ended(fleet, mine))
    assert [line.split()[0] for line in out.read_text().splitlines()] == ["0"] * len(commands)
    (child,) = await fleet.list(TaskQuery(parents=[mine.id]))
    assert (child.title, child.coder) == ("Child", "scripted")


@pytest.mark.parametrize("decision", ["land {victim}", "config set agents 9"])
@pytest.mark.parametrize("env", [{}, {"FLEET_PLATFORM": "posix"}], ids=["empty", "posix"])
@pytest.mark.linux
async def test_what_an_agent_starts_decides_nothing_though_it_killed_its_keeper(
    fleet: Fleet,
    crew: Crew,
    home: Path,
    add: Add,
    at_work: AtWork,
    decision: str,
    env: dict[str, str],
) -> None:
    victim = await in_review(fleet, crew, add)
    command = f"{sys.executable} -m codefleet --home {home} {decision.format(victim=victim.id)}"
    async with at_work() as agent:
        escaped = await asyncio.create_subprocess_exec(
            *("sh", "-c", f"read go; exec {command}"), env=env, stdin=asyncio.subprocess.PIPE
        )
        put_mark(escaped.pid, agent.run.id)  # all that its keeper's end leaves of it
        await escaped.communicate(b"go\n")
        agent.end()
    assert escaped.returncode == Refused.exit_code
    assert not (await fleet.get(victim.id)).approved
    assert not (home / "fleet.toml").exists()


async def test_an_agent_that_names_another_run_acts_for_its_own_all_the_same(
    fleet: Fleet, home: Path, add: Add, tmp_path: Path
) -> None:
    for title in ("Mine", "Theirs"):
        await add(title)
    seats = [Seat(f"agent-{n}", RunnerId("r"), fleet.host, "scripted") for n in (1, 2)]
    mine, theirs = (claim.run for claim in await Dispatch(fleet).claim(seats, ClaimFilter()))
    (child,) = await fleet.acting_as(AgentOf(run=theirs.id)).add([Draft(title="Child")])
    forged = f"FLEET_RUN={theirs.id} {sys.executable} -m codefleet --home {home} cancel {child.id}"
    agent = await asyncio.create_subprocess_exec(
        *("sh", "-c", f"{forged}; exit $?"), env={**os.environ, "FLEET_RUN": mine.id}
    )
    assert await agent.wait() == Refused.exit_code
    assert (await fleet.get(child.id)).state is State.PENDING


LIBRARY = """\
import asyncio, pathlib, sys
from codefleet.domain.errors import Refused
from codefleet.wiring import open_fleet

async def main():
    async with open_fleet(pathlib.Path(sys.argv[1])) as fleet:
        for verb in (fleet.land(sys.argv[2]), fleet.reject(sys.argv[2], "no"), fleet.pause()):
            try:
                await verb
                print("done")
            except Refused:
                print("refused")

asyncio.run(main())
"""


async def test_the_library_inside_a_run_decides_nothing_for_humans(
    fleet: Fleet, crew: Crew, home: Path, add: Add, tmp_path: Path
) -> None:
    victim = await in_review(fleet, crew, add)
    program, out = tmp_path / "sly.py", tmp_path / "out"
    program.write_text(LIBRARY)
    step = f"shell env -i {sys.executable} {program} {home} {victim.id} >{out}"
    await add("Hostile", step, "write own.txt x")
    await crew.work()
    assert out.read_text().split() == ["refused"] * 3
    assert not (await fleet.get(victim.id)).approved


async def test_code_of_an_agent_that_a_check_runs_decides_nothing_for_humans(
    fleet: Fleet, crew: Crew, home: Path, add: Add, tmp_path: Path
) -> None:
    victim = await in_review(fleet, crew, add)
    out = tmp_path / "code"
    land = f"{sys.executable} -m codefleet --home {home} land {victim.id}"
    sly = f"#!/bin/sh\nenv -u FLEET_RUN {land}\necho $? >>{out}\n"
    await add("Hostile", "write test.sh <<END", sly, "END", checks=["sh test.sh"])
    await crew.work(checks=["sh -c 'test ! -f test.sh || sh test.sh'"])
    assert set(out.read_text().split()) == {"4"}
    assert not (await fleet.get(victim.id)).approved


async def test_a_human_lands_what_was_reviewed_though_an_agent_moved_its_branch(
    fleet: Fleet, crew: Crew, repo: SampleRepo, add: Add
) -> None:
    victim = await in_review(fleet, crew, add)
    steps = ("write slipped.txt x", "commit Slip in")
    move = f"shell git update-ref refs/heads/{victim.branch} HEAD"
    await add("Hostile", *steps, move, lands="branch")
    await crew.work()
    with suppress(Refused):
        await approve(Context(fleet), victim.id)
    await crew.work()
    assert "slipped.txt" not in repo.git("ls-tree", "--name-only", "main").split()


async def test_settings_that_an_agent_lands_loosen_nothing_and_stop_nobody(
    fleet: Fleet, home: Path, crew: Crew, repo: SampleRepo, add: Add
) -> None:
    (home / "fleet.toml").write_text('landing = "review"\nchecks = ["test -f README.md"]\n')
    loose = "landing = 'queue'\nchecks = []\n"
    first = await add("Loosen", "write fleet.toml <<END", loose, "END", "commit Loosen")
    await crew.work()
    await approve(Context(fleet), first.id)
    await crew.work()
    second = await add("Endless", "shell ln -sf /dev/zero fleet.toml", "commit Link")
    await crew.work()
    assert await _is(fleet, second.id, State.REVIEW)
    await approve(Context(fleet), second.id)
    await crew.work()
    third = await add("After", "write after.txt x")
    await crew.work()
    assert not (await fleet.get(third.id)).approved
    assert "after.txt" not in repo.git("ls-tree", "--name-only", "main").split()


async def test_a_key_that_an_agent_was_given_does_not_land_by_itself(
    fleet: Fleet, home: Path, crew: Crew, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP", "a-value-that-looks-like-nothing")
    (home / "fleet.toml").write_text('environment = ["SHOP"]\n')
    task = await add("Leak", "shell echo $SHOP > till.txt", "commit Leak")
    await crew.work()
    assert [(item.kind, item.task) for item in await fleet.inbox()] == [("review", task.id)]


async def test_a_token_that_an_agent_seals_with_a_key_of_its_own_is_refused(
    fleet: Fleet, home: Path, at_work: AtWork
) -> None:
    async with at_work() as agent:
        key = home / "keys" / "runs.key"
        good = key.read_bytes()
        for guessed in (b"", b"short"):
            key.write_bytes(guessed)
            seal = hmac.new(guessed, agent.run.id.encode(), "sha256").hexdigest()
            with pytest.raises(FleetError):
                await fleet.with_token(f"{agent.run.id}:{seal}")
        key.write_bytes(good)
        agent.end()


async def test_the_token_of_another_run_is_of_no_use_to_an_agent(
    fleet: Fleet, crew: Crew, home: Path, add: Add, at_work: AtWork, tmp_path: Path
) -> None:
    out = tmp_path / "code"
    async with at_work() as agent:
        stolen = home / "runs" / agent.run.id / "token"
        serve = f"{sys.executable} -m codefleet --home {home} mcp --token-file {stolen}"
        thief = await add(
            "Thief", f"shell {serve} </dev/null 2>&1; echo $? >{out}", "write t.txt x"
        )
        await crew.wait_for(lambda: _ended(fleet, thief))
        agent.end()
    assert out.read_text().strip() == "4"


async def _is(fleet: Fleet, name: str, state: State) -> bool:
    return (await fleet.get(name)).state is state


async def _notes(fleet: Fleet, name: str, words: str) -> bool:
    return words in (await fleet.get(name)).note
