"""Unhiding work that a run hid from git, by flags in the index or by ignoring everything."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from codefleet.domain.errors import Workspace
from codefleet.runner.repos.git import Git, failed

IGNORE = ".gitignore"
EVERYTHING = frozenset({"*", "/*", "**", "/**", "**/*", "/**/*"})
ITSELF = frozenset({f"!{IGNORE}", f"!/{IGNORE}"})


async def show_edits(git: Git, folder: Path) -> None:
    """Undo `assume-unchanged` and `skip-worktree`, which hide edits from status and add."""
    if (folder / "info" / "sparse-checkout").exists():
        return  # there git uses the same flags for files that it left out
    listed = await git.run("ls-files", "-v", "-z")
    if listed.code > 0 and "index" in listed.err:
        (folder / "index").replace(folder / "index.broken")  # the files are all there is to save
        return
    if listed.code:
        raise failed(git.folder, ("ls-files", "-v"), listed)
    entries = listed.out.split("\0")
    marked = [entry[2:] for entry in entries if entry[:1].islower() or entry[:1] == "S"]
    for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
        if marked:
            await git("update-index", flag, "-z", "--stdin", stdin="\0".join(marked))


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
        raise Workspace(
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
