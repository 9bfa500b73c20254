"""Agents that change what git is told in the files that all worktrees of a repository share."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Task
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]

ELSEWHERE = {
    "for its own worktree": "git config extensions.worktreeConfig true &&"
    " git config --worktree core.worktree {there}",
    "for all worktrees": "git config extensions.worktreeConfig true &&"
    " git config core.worktree {there}",
    "for the checkout": "git config core.worktree {there}",
}


@pytest.mark.parametrize("how", ELSEWHERE)
async def test_a_folder_elsewhere_that_git_is_pointed_to_is_neither_saved_nor_cleaned(
    how: str, fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path
) -> None:
    there = tmp_path / "documents"
    there.mkdir()
    (there / "letter.txt").write_text("dear")
    (there / "README.md").write_text("mine")
    turn = ELSEWHERE[how].format(there=there)
    task = await add("Turn", "write a.txt a", f"shell {turn}", checks=["touch made-by-a-check"])
    await crew.work()
    assert {file.name: file.read_text() for file in there.iterdir()} == {
        "letter.txt": "dear",
        "README.md": "mine",
    }
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "a.txt") == "a\n"
    assert repo.saved("letter.txt") == set()
