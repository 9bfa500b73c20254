"""Where git keeps the records of a worktree and of its repository."""

import stat
from pathlib import Path

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.real_path import kind_of, real_path


def git_dir(worktree: Path) -> Path:
    """The git folder of a checkout or worktree, without running git; a mirror is its own."""
    link = worktree / ".git"
    kind = kind_of(link)
    if not kind and (worktree / "HEAD").is_file():
        return real_path(worktree)
    try:
        text = link.read_bytes() if kind == stat.S_IFREG else b".git"
    except OSError as trouble:
        raise WorkspaceTrouble(
            f"cannot read {link}: {trouble.strerror}", hint="is it a worktree?"
        ) from None
    return real_path(worktree, _named(text.removeprefix(b"gitdir:")))


def common_dir(git_dir: Path) -> Path:
    """The git folder that all worktrees of a repository share."""
    link = git_dir / "commondir"
    return real_path(git_dir, _named(link.read_bytes())) if kind_of(link) else git_dir


def _named(text: bytes) -> str:
    return text.decode(errors="surrogateescape").strip()
