"""Questions about refs and commits, answered without starting a git where that is as good."""

import re
from pathlib import Path

from codefleet.runner.git.git import Done, Git, failed
from codefleet.runner.git.history import is_near_ancestor
from codefleet.runner.git.layout import common_dir
from codefleet.runner.git.object_reader import look_up
from codefleet.runner.git.trusted_view import common_dir_of, git_dir_of, read_small

FULL_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
BRANCH = re.compile(r"ref: (refs/heads/[^\s\x00-\x1f\x7f:^~{}\\?*\[]+)")
ELSEWHERE = "refs/heads/.invalid"
"""What the file HEAD names if the refs are in tables."""
LONGEST_REF = 4000


async def commit_at(git: Git, ref: str) -> str | None:
    """The commit that a ref names, or None."""
    if "\0" in ref or len(ref) > LONGEST_REF:  # git cannot even be asked
        return None
    name = head_of(git.folder) if ref == "HEAD" else ref
    if name and (found := await look_up(git.folder, f"{name}^{{commit}}")):
        return found[0].id if found[0] else None
    done = await _answered(git, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return done.out.strip() if done.code == 0 else None


async def head_commit(git: Git) -> str:
    """The commit that is checked out, which must exist."""
    return await commit_at(git, "HEAD") or await git("rev-parse", "HEAD")


async def merge_base(git: Git, one: str, other: str) -> str | None:
    """The commit in which two histories meet, or None."""
    if await is_near_ancestor(git, one, other):
        return one
    return (await git.run("merge-base", one, other)).out.strip() or None


async def tree_at(git: Git, commit: str) -> str:
    """The tree of a commit, which must exist."""
    if (found := await look_up(git.folder, f"{commit}^{{tree}}")) and found[0]:
        return found[0].id
    said = await git("cat-file", "commit", commit)  # in a partial clone, the tree may be elsewhere
    return said.split("\n", 1)[0].removeprefix("tree ")


async def head_ref(git: Git) -> str:
    """The branch that HEAD is on, as a ref; empty if detached."""
    if head := head_of(git.folder):
        return "" if FULL_ID.fullmatch(head) else head
    return (await _answered(git, "symbolic-ref", "--quiet", "HEAD")).out.strip()


async def is_ancestor(git: Git, commit: str, of: str) -> bool:
    """Does the second commit contain the first?"""
    near = await is_near_ancestor(git, commit, of)
    if near is not None:
        return near
    return (await _answered(git, "merge-base", "--is-ancestor", commit, of)).code == 0


def head_of(worktree: Path) -> str | None:
    """What HEAD says: a commit, or the branch as a ref; None if only git can tell."""
    folder = git_dir_of(worktree)
    return head_in(folder) if folder else None


def head_in(folder: Path, common: Path | None = None) -> str | None:
    """The same for a worktree with this git folder, in a repository with that `common` one."""
    text = read_small(f"{folder}/HEAD").strip().decode(errors="surrogateescape")
    if FULL_ID.fullmatch(text):
        return text
    on = BRANCH.fullmatch(text)
    if not on or on[1] == ELSEWHERE or _is_symbolic(common or common_dir(folder), on[1]):
        return None
    return on[1]


def ref_names(folder: Path, *above: str) -> set[str] | None:
    """The refs under these names, from git's own files; None if only git can tell.

    Loose ones first: git writes a ref into the list of packed ones before it removes its file.
    """
    common = common_dir_of(folder)
    if common is None or (common / "reftable").exists():
        return None
    files = [file for each in above for file in (common / each).rglob("*") if file.is_file()]
    loose = {str(file.relative_to(common)) for file in files if file.suffix != ".lock"}
    try:
        packed = (common / "packed-refs").read_text(errors="surrogateescape")
    except FileNotFoundError:
        packed = ""
    except OSError:
        return None
    names = (entry.partition(" ")[2] for entry in packed.splitlines())
    return loose | {name for name in names if name.startswith(above)}


def _is_symbolic(common: Path, ref: str) -> bool:
    """Does this ref only name another one? An agent can make any branch such a link."""
    file = common / ref
    try:
        return file.is_symlink() or read_small(file).startswith(b"ref:")
    except (OSError, ValueError):  # no such name can be a file's: git will say what it is
        return True


async def _answered(git: Git, *words: str) -> Done:
    """Git's answer; a killed git gave none."""
    done = await git.run(*words)
    if done.code < 0:
        raise failed(git.folder, words, done)
    return done
