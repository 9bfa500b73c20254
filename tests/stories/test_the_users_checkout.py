"""The trunk is checked out in the user's own working tree: it is updated or left alone."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Draft, Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.context import Context
from codefleet.runner.git.repository import find
from codefleet.runner.landing.approval import approve
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script
from tests.stories.conftest import FLAGS, Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]


async def test_a_clean_checkout_moves_forward_with_its_files(
    repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write("notes.txt", "mine, not under git\n")
    await add("Work", "write new.txt new", "edit src/till.py 0 1")
    await crew.work()
    assert (repo.path / "new.txt").read_text() == "new\n"
    assert (repo.path / "src/till.py").read_text() == "TOTAL = 1\n"
    assert (repo.path / "notes.txt").read_text() == "mine, not under git\n"
    assert repo.git("status", "--porcelain") == "?? notes.txt"


async def test_local_edits_make_the_lane_wait_untouched_until_they_are_gone(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    edited = repo.write("README.md", "half a thought\n")
    before = (edited.stat().st_mtime_ns, repo.git("rev-parse", "main"))
    task = await add("Work", "write new.txt new")
    loop = crew.loop()
    running = asyncio.create_task(loop.run())

    async def says_why() -> bool:
        return "has local edits: README.md" in (await fleet.get(task.id)).note

    await crew.wait_for(says_why)
    assert (await fleet.get(task.id)).state is State.REVIEW
    assert (edited.stat().st_mtime_ns, repo.git("rev-parse", "main")) == before
    assert edited.read_text() == "half a thought\n"
    assert not (repo.path / "new.txt").exists()
    repo.git("checkout", "--", "README.md")

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert (repo.path / "new.txt").read_text() == "new\n"
    said = [event.kind for event in await fleet.events(task=task.id)]
    assert said.count("task.waits") == 1


async def test_work_that_stands_on_what_the_user_took_back_waits_and_tells_the_way_out(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    repo.write("key.txt", "secret\n")
    lost = repo.commit("a mistake")
    task = await add("Work", "write new.txt new")
    await crew.work(landing="review")
    repo.git("reset", "--quiet", "--hard", "HEAD~1")
    await fleet.land(task.id)
    loop = crew.loop(landing="review")
    running = asyncio.create_task(loop.run())

    async def says_why() -> bool:
        return "main was rewritten" in (await fleet.get(task.id)).note

    await crew.wait_for(says_why)
    branch = (await fleet.get(task.id)).branch
    copy, way_out = f"git branch rebased {branch}", f"git rebase --onto main {lost[:10]} rebased"
    for command in (copy, way_out):
        assert f"`{command}`" in (await fleet.get(task.id)).note
        repo.git(*command.split()[1:])
    repo.git("checkout", "--quiet", "main")
    await approve(Context(fleet), task.id, "rebased")

    async def done() -> bool:
        return (await fleet.get(task.id)).state is State.COMPLETED

    await crew.wait_for(done)
    loop.stop()
    await running
    assert repo.git("ls-tree", "--name-only", "main").split() == ["README.md", "new.txt", "src"]


async def test_a_commit_that_only_a_submodule_of_the_agent_has_holds_up_nobody(
    tmp_path: Path, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    library = make_repo(tmp_path / "library", {"lib.txt": "lib\n"})
    local = ("-c", "protocol.file.allow=always")
    repo.git("config", "submodule.recurse", "true")
    repo.git(*local, "submodule", "add", "--quiet", str(library.path), "lib")
    repo.commit("with a library")
    who = "-c user.name=Ada -c user.email=ada@example.org"
    bumped = await add(
        "Bump",
        f"shell git {' '.join(local)} submodule update --quiet --init",
        f"shell cd lib && touch new && git add -A && git {who} commit --quiet -m new",
    )
    await crew.work()
    after = await add("Work", "write new.txt new")
    await crew.work()
    for task in (bumped, after):
        assert (await fleet.get(task.id)).state is State.COMPLETED
    inner = repo.git("ls-tree", "--object-only", "main", "lib")
    assert repo.git("for-each-ref", f"--points-at={inner}", "--format=%(refname)").startswith(
        "refs/fleet/archive/"
    )


async def test_an_agent_that_strays_into_the_main_checkout_is_reported(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    task = await add("Stray", f"write {repo.path}/README.md astray", "write new.txt new")
    await crew.work()
    warned = [
        event.text for event in await fleet.events(task=task.id) if event.kind == "run.warned"
    ]
    assert warned == ["the main checkout changed, by the agent or by a human: README.md"]


async def test_a_commit_on_the_trunk_that_no_lane_made_is_reported(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    strayed = f"cd {repo.path} && git commit -q --allow-empty -m stray"
    task = await add("Stray", f"shell {strayed}", "write new.txt new")
    await crew.work()
    warned = [e.text for e in await fleet.events(task=task.id) if e.kind == "run.warned"]
    assert len(warned) == 1
    assert "by the agent or by a human: commit " in warned[0]


async def test_a_runner_that_joins_is_told_once(fleet: Fleet, crew: Crew) -> None:
    await crew.work()
    kinds = [event.kind for event in await fleet.events()]
    assert kinds.count("runner.started") == 1


def _submodule(folder: Path) -> SampleRepo:
    """A checkout whose git folder is inside that of the enclosing repository."""
    inner, outer = make_repo(folder / "inner"), make_repo(folder / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "till")
    return SampleRepo(outer.path / "till")


def _apart(folder: Path) -> SampleRepo:
    """A checkout whose git folder is somewhere else altogether."""
    repo = make_repo(folder / "shop")
    repo.git("init", "--quiet", f"--separate-git-dir={folder / 'elsewhere'}")
    return repo


@pytest.mark.parametrize("made", [_submodule, _apart])
@pytest.mark.parametrize("linked", [False, True])
async def test_a_checkout_whose_git_folder_stands_elsewhere_moves_forward_too(
    made: Callable[[Path], SampleRepo], linked: bool, home: Path, tmp_path: Path
) -> None:
    repo = made(tmp_path)
    async with open_fleet(home, create=True, flags=FLAGS) as fleet:
        known = await register(fleet, repo.path)
        assert known.path == str(repo.path)
        if linked:  # another checkout of the user's changes nothing
            repo.git("worktree", "add", "-q", "-b", "mine", str(tmp_path / "beside"))
        await fleet.add([Draft(title="Work", prompt=script("write new.txt new"))])
        await Crew(fleet).work()
    assert repo.read("main", "new.txt") == "new\n"
    assert repo.git("status", "--porcelain") == ""
    assert (repo.path / "new.txt").read_text() == "new\n"


async def test_a_submodule_is_known_from_a_checkout_beside_it(home: Path, tmp_path: Path) -> None:
    repo, beside = _submodule(tmp_path), tmp_path / "beside"
    repo.git("worktree", "add", "-q", "-b", "mine", str(beside))
    assert await find(beside) == repo.path


async def test_a_checkout_that_git_does_not_know_the_way_to_is_asked_for(tmp_path: Path) -> None:
    repo, beside = _apart(tmp_path), tmp_path / "beside"
    repo.git("worktree", "add", "-q", "-b", "mine", str(beside))
    with pytest.raises(Invalid) as refused:
        await find(beside)
    assert "git does not report where the checkout of" in refused.value.problem
    assert refused.value.hint
