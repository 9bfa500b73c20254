"""Unhiding work that a run hid from git, by flags in the index or by ignoring everything."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.git import Git, failed
from codefleet.runner.git.trusted_index import renew_index

IGNORE = ".gitignore"
EVERYTHING = frozenset({"*", "/*", "**", "/**", "**/*", "/**/*"})
ITSELF = frozenset({f"!{IGNORE}", f"!/{IGNORE}"})


async def show_edits(git: Git, folder: Path) -> None:
    """Make git look at files that the index of a worktree with this git folder calls unchanged."""
    listed = await git.run("ls-files", "-v", "--stage", "-z")
    if listed.code > 0 and "index" in listed.err:
        (folder / "index").replace(folder / "index.broken")  # the files are all there is to save
        return
    if listed.code:
        raise failed(git.folder, ("ls-files", "-v"), listed)
    entries = [entry for entry in listed.out.split("\0") if entry]
    # There git uses the same flags for files that it left out.
    is_sparse = (folder / "info" / "sparse-checkout").exists()
    await asyncio.to_thread(renew_index, git.folder, entries, is_sparse=is_sparse)
    # Each file is read once, here, and the ids of folders are noted, so that git is quick again.
    await git.run("update-index", "-q", "--refresh")
    await git.run("write-tree")


async def show_files(worktree: Path, base: str = "HEAD") -> bool:
    """Remove rules that ignore everything from the root's `.gitignore`, unless `base` has them.

    Such a file hides itself and all new work. Creating a virtual environment in the root overwrites
    the repository's own file with one; if nothing else is left in it, the original is restored.
    """
    file = worktree / IGNORE
    lines = _lines(file)
    if not hides_everything(lines):
        return False
    was = await Git(worktree).run("cat-file", "blob", f"{base}:{IGNORE}")
    known = "" if was.code else was.out
    if hides_everything(known.splitlines()):
        return False
    rest = [line for line in lines if line.strip() not in EVERYTHING | ITSELF]
    text = "".join(f"{line}\n" for line in rest) if any(_rules(rest)) else known
    try:
        file.unlink()  # it may be read-only
        if text:
            file.write_bytes(text.encode(errors="surrogateescape"))
    except OSError as trouble:
        raise WorkspaceTrouble(
            f"cannot change {file}, which hides everything: {trouble.strerror}",
            hint="remove the rule by hand",
        ) from None
    return True


def _lines(file: Path) -> list[str]:
    """The lines that git reads there; it does not follow links."""
    with suppress(OSError):
        if file.is_file() and not file.is_symlink():
            return file.read_bytes().decode(errors="surrogateescape").splitlines()
    return []


def hides_everything(lines: Iterable[str]) -> bool:
    """Is everything ignored? A list with exceptions is deliberate, even if it starts so."""
    rules = {*_rules(lines)} - ITSELF
    return not rules.isdisjoint(EVERYTHING) and not any(rule.startswith("!") for rule in rules)


def _rules(lines: Iterable[str]) -> Iterable[str]:
    return (rule for line in lines if (rule := line.strip()) and not rule.startswith("#"))
