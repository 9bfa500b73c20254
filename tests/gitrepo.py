"""A small real git repository for tests: fast to create, independent of the user's settings."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
}
SETTINGS = """\
[user]
\tname = Ada Sample
\temail = ada@example.org
[commit]
\tgpgsign = false
[core]
\tfsync = none
"""


class SampleRepo:
    """A repository whose trunk is `main`, with the operations that a test needs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *args: str, at: Path | None = None) -> str:
        """Run git in the repository, or in its worktree `at`; it must succeed."""
        return self._output(*args, at=at).removesuffix("\n")

    def write(self, path: str, text: str, at: Path | None = None) -> Path:
        """Write a file, and create its folders."""
        file = (at or self.path) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def commit(self, message: str = "change", at: Path | None = None) -> str:
        """Commit everything, and return the commit."""
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", f"--message={message}", at=at)
        return self.sha("HEAD", at=at)

    def read(self, ref: str, path: str) -> str:
        """The exact text of a file at a ref."""
        return self._output("show", f"{ref}:{path}")

    def sha(self, ref: str, at: Path | None = None) -> str:
        return self.git("rev-parse", "--verify", f"{ref}^{{commit}}", at=at)

    def reachable(self, commit: str) -> bool:
        """Is this commit reachable from any ref, so that git will never collect it?"""
        return bool(self.git("for-each-ref", f"--contains={commit}", "--format=%(refname)"))

    def saved(self, path: str) -> set[str]:
        """Every text that this path has, or ever had, in a commit reachable from some ref."""
        commits = self.git("log", "--all", "--format=%H", "--", path).split()
        return {self.read(commit, path) for commit in commits if self._has(commit, path)}

    def _output(self, *args: str, at: Path | None = None) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        done = subprocess.run(
            ["git", *args],
            cwd=at or self.path,
            env={**environment, **ALONE},
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
        )
        if done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stdout}{done.stderr}")
        return done.stdout

    def _has(self, commit: str, path: str) -> bool:
        return bool(self.git("ls-tree", "--name-only", commit, "--", path))


samples: Path | None = None
"""Where repositories are kept to be copied: a folder of pytest's, which clears what killed runs
left. Without one, nothing is kept."""


def make_repo(folder: Path, files: Mapping[str, str] | None = None) -> SampleRepo:
    """Make a repository with one commit on `main`: a copy, in half the time git needs."""
    wanted = tuple(({"README.md": "# sample\n"} if files is None else files).items())
    if samples is None:
        return _made(folder, wanted)
    shutil.copytree(_made_once(wanted, samples), folder, symlinks=True, dirs_exist_ok=True)
    repo = SampleRepo(folder)
    repo.git("update-index", "-q", "--refresh")  # git takes copies for changed files until it looks
    return repo


@cache
def _made_once(files: Iterable[tuple[str, str]], where: Path) -> Path:
    folder = Path(tempfile.mkdtemp(dir=where))
    folder.chmod(0o755)
    return _made(folder, files).path


def _made(folder: Path, files: Iterable[tuple[str, str]]) -> SampleRepo:
    folder.mkdir(parents=True, exist_ok=True)
    repo = SampleRepo(folder)
    repo.git("init", "--quiet", "--initial-branch=main", "--template=")
    with (folder / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(SETTINGS)
    for path, text in files:
        repo.write(path, text)
    repo.commit("first")
    return repo
