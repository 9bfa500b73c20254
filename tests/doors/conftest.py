"""The command line as a user sees it: a home, a repository, and what was printed."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from codefleet.doors.cli import main
from tests.gitrepo import SampleRepo, make_repo


class Result(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Result]
START = "from codefleet.doors.cli import main; main()"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the user's affects a test."""
    for name in [name for name in os.environ if name.startswith("FLEET_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FLEET_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleRepo:
    """A repository as the current folder."""
    made = make_repo(tmp_path / "shop", {"src/mail/send.py": "x = 1\n", "README.md": "# shop\n"})
    monkeypatch.chdir(made.path)
    return made


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Call the program in this process."""

    def call(*args: str) -> Result:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main(args)
        printed = capfd.readouterr()
        assert isinstance(left.value.code, int)
        return Result(left.value.code, printed.out, printed.err)

    return call


@pytest.fixture
def fleet(cli: Cli, repo: SampleRepo) -> Cli:
    """The same, with a fleet that knows the current repository."""
    assert cli("init").code == 0
    return cli


def program(*args: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Result:
    """Call the program as a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", START, *args],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
    )
    return Result(done.returncode, done.stdout, done.stderr)


def on_a_terminal(*args: str, **env: str) -> str:
    """What the program prints when its stdout is a terminal."""
    controller, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", START, *args],
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "60", **env},
    ):
        os.close(terminal)
        printed = b""
        try:
            while chunk := os.read(controller, 65536):
                printed += chunk
        except OSError:  # the other end is closed
            pass
    os.close(controller)
    return printed.decode()
