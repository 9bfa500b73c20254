"""A broken `fleet.toml` in the home: readers are warned, all other commands are refused."""

from pathlib import Path

import pytest

from tests.doors.conftest import Cli
from tests.doors.terminal import terminal
from tests.runner.forged import rewrite_unnoticed


@pytest.mark.parametrize(
    "command",
    [
        *(("status",), ("list",), ("ready",), ("log",), ("inbox",), ("agents",), ("cost",)),
        *(("coders",), ("export", "-")),
    ],
)
def test_reading_commands_work_while_the_settings_are_broken(
    fleet: Cli, home: Path, command: tuple[str, ...]
) -> None:
    fleet("add", "Paint")
    (home / "fleet.toml").write_text("agents = = 3\n")
    read = fleet(*command)
    assert read.code == 0, read.err
    assert "warning: " in read.err
    assert "fleet.toml is not TOML" in read.err
    refused = fleet("add", "More")
    assert (refused.code, "is not TOML" in refused.err) == (2, True)


def test_a_fleet_is_watched_while_the_settings_are_broken(fleet: Cli, home: Path) -> None:
    fleet("add", "Paint")
    (home / "fleet.toml").write_text("agents = = 3\n")
    with terminal("watch") as screen:
        screen.wait_for("no runner")
        screen.press("q")
        assert screen.ended() == 0


def test_a_task_is_shown_while_a_setting_is_wrong(fleet: Cli, home: Path) -> None:
    task = fleet("add", "Paint", "--quiet").out.strip()
    (home / "fleet.toml").write_text("agents = 'many'\n")
    shown = fleet("show", task)
    assert (shown.code, "Paint" in shown.out) == (0, True)
    assert "warning: " in shown.err


def test_the_store_of_the_last_good_settings_is_read(
    fleet: Cli, home: Path, tmp_path: Path
) -> None:
    elsewhere = f"store = 'sqlite://{tmp_path}/other.db'\n"
    (home / "fleet.toml").write_text(elsewhere)
    fleet("init")
    fleet("add", "Only here")
    (home / "fleet.toml").write_text(f"{elsewhere}agents = [\n")
    assert "Only here" in fleet("list").out
    assert (home / ".fleet.toml.last-good").stat().st_mode & 0o777 == 0o600


def test_the_last_good_settings_are_the_last_even_if_their_file_is_as_old_as_before(
    fleet: Cli, home: Path
) -> None:
    file = home / "fleet.toml"
    file.write_text("agents = 7\n")
    fleet("list")
    rewrite_unnoticed(file, "agents = 8\n")
    fleet("list")
    assert (home / ".fleet.toml.last-good").read_text() == "agents = 8\n"


def test_no_other_fleet_is_shown_where_the_last_good_store_is_not_known(
    fleet: Cli, home: Path
) -> None:
    (home / ".fleet.toml.last-good").unlink()
    (home / "fleet.toml").write_text("store = 'sqlite:///x.db'\nagents = [\n")
    assert fleet("list").code == 2
