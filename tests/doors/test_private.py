"""What only the owner may see: file modes, and passwords outside the process list."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from codefleet.runner.crash_log import record
from tests.doors.conftest import Cli, program
from tests.doors.test_add import added


@pytest.fixture(autouse=True)
def wide_open() -> Iterator[None]:
    """A umask that keeps nothing private."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_an_export_the_settings_and_the_logs_are_closed_to_others(
    fleet: Cli, home: Path, tmp_path: Path
) -> None:
    added(fleet, "A")
    assert fleet("export", str(tmp_path / "all.jsonl")).code == 0
    assert mode(tmp_path / "all.jsonl") == 0o600
    assert mode(home / "fleet.toml") == 0o600
    (home / "fleet.toml").chmod(0o644)
    assert fleet("config", "set", "store_direct", "postgresql://a:secret@c/d").code == 0
    assert mode(home / "fleet.toml") == 0o600
    assert fleet("config", "set", "store_direct", "").code == 0
    (home / "logs").mkdir(exist_ok=True)
    record(home / "logs" / "crash.log", "here", ValueError())
    assert (mode(home / "logs"), mode(home / "logs" / "crash.log")) == (0o700, 0o600)


def test_the_file_of_a_repo_stays_open_to_all(fleet: Cli, repo_file: Path) -> None:
    assert fleet("config", "set", "landing", "review", "--repo").code == 0
    assert mode(repo_file) == 0o644


@pytest.fixture
def repo_file(tmp_path: Path) -> Path:
    return tmp_path / "shop" / "fleet.toml"


def test_a_home_that_others_can_look_into_is_told(fleet: Cli, home: Path) -> None:
    assert "other users can read" not in fleet("doctor").out
    home.chmod(0o755)
    assert f"other users can read the home {home}" in fleet("doctor").out


def test_the_address_of_a_store_comes_from_stdin_or_a_file(
    fleet: Cli, home: Path, tmp_path: Path
) -> None:
    address = f"sqlite://{tmp_path}/new.db"
    assert program("migrate", "--to", "-", stdin=f"{address}\n").code == 0
    secret = tmp_path / "address"
    secret.write_text(f"{address}\n")
    assert fleet("config", "set", "store", f"@{secret}").code == 0
    assert f'store = "{address}"' in (home / "fleet.toml").read_text()
    assert program("config", "set", "store", "-", stdin="postgresql://a:b@c/d\n").code == 0
    assert 'store = "postgresql://a:b@c/d"' in (home / "fleet.toml").read_text()


def test_a_file_that_is_not_there_is_no_address(fleet: Cli) -> None:
    result = fleet("config", "set", "store", "@/nowhere")
    assert result.code == 2
    assert "cannot read /nowhere: No such file or directory" in result.err
