"""The branch of a new task: its name, and how it is made."""

import re
import unicodedata

from codefleet.domain.errors import Invalid, WorkspaceTrouble
from codefleet.runner.git.archive import archive, label
from codefleet.runner.git.branch import OURS, set_branch
from codefleet.runner.git.git import Git
from codefleet.runner.git.lookup import commit_at, is_ancestor

SLUG_LENGTH = 40


def branch_name(task_id: str, title: str) -> str:
    """The branch for a task: `fleet/<id>-<title in plain letters>`, whatever the title is."""
    plain = unicodedata.normalize("NFKD", title[:1000]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:SLUG_LENGTH].strip("-")
    return f"fleet/{task_id}-{slug or 'task'}"


async def make_branch(git: Git, branch: str, commit: str) -> None:
    """Set the branch to this commit; archive the commit it was at, if that would be lost."""
    ref = f"refs/heads/{branch}"
    there = await commit_at(git, ref)
    if there == commit:
        return
    if there and not await is_ancestor(git, there, commit):
        await archive(git.folder, label(branch), there)
    try:
        await set_branch(git, ref, "-m", "fleet: start", ref, commit, there or "")
    except WorkspaceTrouble as trouble:
        await refuse_without_room(git)
        if await commit_at(git, ref) != commit:
            raise WorkspaceTrouble(
                f"cannot start {branch}: {trouble.problem}", hint="did it just move?"
            ) from trouble


async def refuse_without_room(git: Git) -> None:
    """Refuse a repository in which a branch named `fleet` blocks the fleet's own branches."""
    if await commit_at(git, OURS.rstrip("/")):
        raise Invalid(
            f"{git.folder} has a branch named fleet, beside which git allows no fleet/...",
            hint="rename it: git branch --move fleet NAME",
        )
