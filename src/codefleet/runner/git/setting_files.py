"""The files in which a repository keeps shared settings, and how they were."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from codefleet.runner.git.unhide import hides_everything

CONFIG = ("config", "config.worktree")
EXCLUDE = "info/exclude"
FILES = ("info/attributes", EXCLUDE, "info/grafts", "objects/info/alternates")
HOOKS = "hooks"
LARGEST = 1 << 20
"""Such files are not larger; one that is, is identified by size and times."""

Texts = Mapping[str, str]
"""Files by name: the mode and text of each, or its target if it is a link."""


def texts_in(folder: Path) -> dict[str, str]:
    """The files in this git folder that hold shared settings, as they are now."""
    hooks = folder / HOOKS
    names = [*CONFIG, *FILES, HOOKS] if hooks.is_symlink() else [*CONFIG, *FILES, *_hooks(hooks)]
    states = {name: state_of(f"{folder}/{name}") for name in names}
    return {name: text for name, text in states.items() if text is not None}


def _hooks(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [f"{HOOKS}/{file.name}" for file in folder.iterdir() if file.suffix != ".sample"]


def state_of(file: Path | str) -> str | None:
    """Mode and text of a file in one string; None if it is not a regular file or link."""
    with suppress(OSError):
        facts = os.lstat(file)
        if stat.S_ISLNK(facts.st_mode):
            return f"link\n{Path(file).readlink()}"
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= LARGEST:
            text = Path(file).read_bytes().decode(errors="surrogateescape")
            return f"{stat.S_IMODE(facts.st_mode):o}\n{text}"
        if stat.S_ISREG(facts.st_mode):
            return f"huge\n{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"
    return None


def is_file_put_back(name: str, was: Texts, now: Texts) -> bool:
    """Does this file start programs or hide all work? One too long to note cannot be put back."""
    if was.get(name, "").startswith("huge\n"):
        return False
    if name == EXCLUDE:
        return _hides(now) and not _hides(was)
    return name.startswith(HOOKS) or name == "info/attributes"


def _hides(texts: Texts) -> bool:
    return hides_everything(text_of(texts.get(EXCLUDE, "")).splitlines())


def text_of(state: str) -> str:
    """The text of a file, without its mode."""
    return state.partition("\n")[2]


def is_link(state: str) -> bool:
    """Was it a link?"""
    return state.startswith("link\n")


def is_odd(state: str) -> bool:
    """Was it a link, or too long to keep?"""
    return state.startswith(("link\n", "huge\n"))


def write_file(file: Path, state: str) -> None:
    """Write a file with the mode and text that it had."""
    mode, _, text = state.partition("\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    if is_link(state):
        file.symlink_to(text)
        return
    draft = file.with_name(f"{file.name}.fleet-new")
    write_private(draft, text)
    draft.chmod(int(mode, 8))
    draft.replace(file)


def write_private(file: Path, text: str) -> None:
    """Write a new file that only its owner can read."""
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(text.encode(errors="surrogateescape"))
