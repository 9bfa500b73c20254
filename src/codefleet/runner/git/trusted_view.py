"""A repository as the fleet's own git sees it: its objects and refs, but no agent's settings.

Git reads `config`, `info/` and `hooks/` from the folder in GIT_COMMON_DIR. So each repo has such a
folder in the fleet's home: links to what git shares there, and settings that were copied before the
first agent started. Whatever agents write into the repository's own settings, the fleet's git never
reads it. Of a repository that an agent created itself, only the format settings are used.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from codefleet.runner.git.real_path import inode_of, kind_of, real_path

Settings = Mapping[str, Sequence[str]]

SHARED = (
    *("HEAD", "objects", "refs", "packed-refs", "logs", "worktrees", "shallow", "modules"),
    *("reftable", "lfs", "rr-cache", "branches", "remotes"),
)
"""What git keeps there besides settings; a file that does not exist is created through its link."""
COPIED = ("info/attributes", "info/exclude", "info/grafts")
AS_IT_IS = ("worktree", "config")
"""Commands that record where the repository is, and start no program from settings."""
FORMAT = re.compile(
    r"core\.(repositoryformatversion|filemode|symlinks|ignorecase|precomposeunicode)"
    r"|extensions\.(objectformat|compatobjectformat|refstorage|noop|preciousobjects)"
)
LEADS_ELSEWHERE = re.compile(r"include(if\..*)?\.path$|extensions\.worktreeconfig$", re.DOTALL)
"""Settings that make git read other files. What they say is copied, too."""
SPARSE = re.compile(rb"^\s*(sparsecheckout(?:cone)?)\s*=\s*(true|false)\s*$", re.I | re.M)
LONGEST = 1 << 20
PIECE = 1 << 16

_homes: list[Path] = []


def guard(home: Path) -> None:
    """Make git in this process use the settings kept in this home for its repos."""
    if home.absolute() not in _homes:
        _homes.append(home.absolute())


class View(NamedTuple):
    """How git is to see the repository of a worktree."""

    common: Path
    """The git folder that all worktrees share."""
    folder: Path
    """What takes its place for the fleet's git."""
    is_strangers: bool
    """Was the repository made by an agent?"""
    objects: int
    """The inode of its objects: another repository may take its place."""


def seen_by_git(folder: Path, command: str) -> dict[str, str]:
    """The environment that makes git in this folder use trusted settings, if any."""
    found = git_dir_of(folder) if _homes and command not in AS_IT_IS else None
    view = _view(folder, found) if found else None
    if found is None or view is None:
        return {}
    return {"GIT_DIR": str(found), "GIT_COMMON_DIR": str(view.folder), **_sparse(found)}


def view_for(folder: Path) -> View | None:
    """How the fleet's git sees the repository of this folder; None if it knows of none."""
    found = git_dir_of(folder) if _homes else None
    return _view(folder, found) if found else None


def _view(folder: Path, found: Path) -> View | None:
    common = _common_dir(found)
    for home in _homes:
        view = view_of(home, common)
        is_there = kind_of(view) == stat.S_IFDIR
        is_strangers = not is_there and _is_agents(home, folder)
        if is_strangers:
            view = _of_a_stranger(home, common)
        if is_there or is_strangers:
            return View(common, view, is_strangers, inode_of(f"{common}/objects"))
    return None


@lru_cache(maxsize=1000)
def view_of(home: Path, common: Path) -> Path:
    """Where the home keeps its view of the repository with this git folder."""
    return home / "git" / sha256(os.fsencode(common)).hexdigest()[:16]


def write_view(view: Path, common: Path, trusted: Settings, files: Mapping[str, bytes]) -> None:
    """Create or update a view, without disturbing a git that uses it."""
    (view / "info").mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in ("logs", *(["lfs"] if shutil.which("git-lfs") else [])):
        (common / name).mkdir(exist_ok=True)  # git cannot create a folder through a link
    for name in SHARED:
        if not (view / name).is_symlink():
            with suppress(FileExistsError):  # another process made it
                (view / name).symlink_to(common / name)
    kept = {name: values for name, values in trusted.items() if not LEADS_ELSEWHERE.match(name)}
    _renew(view / "config", config_text(kept).encode(errors="surrogateescape"))
    for name in COPIED:
        if said := files.get(name, b""):
            _renew(view / name, said)
        else:
            (view / name).unlink(missing_ok=True)  # git warns about grafts, even an empty file


def config_text(settings: Settings) -> str:
    """Settings in the form that git reads."""
    return "".join(
        f"{_section(name)}\n\t{name.rpartition('.')[2]} = {_quoted(value)}\n"
        for name, values in settings.items()
        for value in values
    )


def git_dir_of(folder: Path) -> Path | None:
    """The git folder of a checkout or a worktree, without running git; a mirror is its own."""
    link = f"{folder}/.git"
    kind = kind_of(link)
    if kind == stat.S_IFDIR:
        return real_path(folder, ".git")
    if not kind:
        return real_path(folder) if (folder / "HEAD").is_file() else None
    text = read_small(link).decode(errors="surrogateescape")
    found = real_path(folder, text.removeprefix("gitdir:").strip())
    return found if text.startswith("gitdir:") and kind_of(found) == stat.S_IFDIR else None


def read_small(file: Path | str) -> bytes:
    """The contents of a file that an agent may have written; empty if not plain or too long."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        facts = os.fstat(handle)
        is_small = stat.S_ISREG(facts.st_mode) and facts.st_size <= LONGEST
        return _whole(handle) if is_small else b""
    except OSError:
        return b""
    finally:
        os.close(handle)


def _whole(handle: int) -> bytes:
    """All that is in a file, which may grow meanwhile; empty if it becomes too long."""
    text = b""
    while len(text) <= LONGEST:
        piece = os.read(handle, PIECE)
        text += piece
        if not piece:
            return text
    return b""


def common_dir_of(folder: Path) -> Path | None:
    """The git folder that all worktrees of a repository share."""
    found = git_dir_of(folder)
    return _common_dir(found) if found else None


def _common_dir(git_dir: Path) -> Path:
    link = read_small(f"{git_dir}/commondir").decode(errors="surrogateescape").strip()
    return real_path(git_dir, link) if link else git_dir


def _is_agents(home: Path, folder: Path) -> bool:
    """Is this a folder that agents work in, or that checks run in?"""
    here = folder.absolute()
    return any(here.is_relative_to(home.absolute() / name) for name in ("worktrees", "lanes"))


def _of_a_stranger(home: Path, common: Path) -> Path:
    """A view of a repository that an agent created, or pointed its worktree to."""
    view = home / "git" / f"other-{view_of(home, common).name}"
    text = read_small(common / "config").decode(errors="surrogateescape")
    write_view(view, common, dict(_format(text)), {})
    return view


def _format(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """The few settings that git needs to read the repository at all."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]").strip().lower()
        key, _, value = line.partition("=")
        name = f"{section}.{key.strip().lower()}"
        if FORMAT.fullmatch(name):
            yield name, (value.strip().strip('"'),)


def _sparse(git_dir: Path) -> dict[str, str]:
    """Sparse checkout, read from the worktree's own config, of which nothing else is trusted."""
    found = SPARSE.findall(read_small(f"{git_dir}/config.worktree"))
    pairs = [(f"core.{name.decode().lower()}", value.decode().lower()) for name, value in found]
    given = int(os.environ.get("GIT_CONFIG_COUNT") or 0) if pairs else 0
    told = {"GIT_CONFIG_COUNT": str(given + len(pairs))} if pairs else {}
    for number, (name, value) in enumerate(pairs, start=given):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return told


def _renew(file: Path, text: bytes) -> None:
    if not file.is_symlink() and file.is_file() and file.read_bytes() == text:
        return
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(text)
    draft.replace(file)


def _section(name: str) -> str:
    section, _, rest = name.partition(".")
    inside = rest.rpartition(".")[0]
    if not inside:
        return f"[{section}]"
    escaped = inside.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{section} "{escaped}"]'


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b") + '"'
