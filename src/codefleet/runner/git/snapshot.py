"""A commit of a worktree as it is now, without touching anything in it."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from codefleet.runner.git.commit import NOBODY
from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import git_dir
from codefleet.runner.git.staging import stage

PREFIX = "fleet-snapshot-"
"""How the folders begin that a killed process leaves beside a worktree's index."""
ALWAYS_THE_SAME = {
    **NOBODY,
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
}
"""Author and dates of a snapshot: equal work gives an equal commit, stored once."""


async def snapshot(
    worktree: Path, message: str = "snapshot", who: Mapping[str, str] = ALWAYS_THE_SAME
) -> str:
    """A commit of the worktree, including uncommitted and untracked files; touches nothing."""
    git, notes = Git(worktree), git_dir(worktree)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=notes) as folder:
        index = Path(folder) / "index"
        shutil.copy2(notes / "index", index)  # with its mtime: git's racy-edit check needs it
        env = {"GIT_INDEX_FILE": str(index)}
        await stage(git, env=env)  # a file may vanish meanwhile: the agent is working
        tree = await git("write-tree", env=env)
    head, its_tree = (await git("rev-parse", "HEAD", "HEAD^{tree}")).split()
    if tree == its_tree:
        return head
    return await git("commit-tree", tree, f"-p{head}", "-m", message, env=who)
