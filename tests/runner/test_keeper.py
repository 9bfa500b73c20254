"""The keeper as a separate program: what it does before and without any runner."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codefleet.runner.process.custody import KEEPER


def keep(folder: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-S", str(KEEPER), str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    orders = {
        "argv": ["sh", "-c", "echo ran >> ran"],
        "env": {"PATH": os.environ["PATH"]},
        "cwd": str(tmp_path),
        "stdin": None,
        "listens": False,
        "stop_signal": "SIGTERM",
        "grace_s": 1,
        "tag": f"FLEET_RUN={tmp_path}",
        "mark": None,
    }
    (tmp_path / "start.json").write_text(json.dumps(orders))
    return tmp_path


def test_a_keeper_leaves_a_record_of_who_and_how(folder: Path) -> None:
    assert keep(folder).returncode == 0
    who = json.loads((folder / "keeper.json").read_text())
    how = json.loads((folder / "exit.json").read_text())
    assert who.keys() == {"keeper", "agent"}
    assert who["agent"].keys() == who["keeper"].keys() == {"pid", "started"}
    assert how.pop("ended_at").endswith("Z")
    assert how == {"code": 0, "signal": None, "orphans": 0, "stopped": False, "error": None}
    assert not list(folder.glob("*.draft"))


def test_a_second_keeper_leaves_the_folder_to_the_first(folder: Path) -> None:
    with (folder / "keeper.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = keep(folder)
    assert refused.returncode == 1
    assert refused.stderr == "another keeper holds this folder\n"
    assert not (folder / "ran").exists()
    assert (folder / "start.json").exists()


def test_a_later_keeper_does_not_start_the_agent_again(folder: Path) -> None:
    orders = (folder / "start.json").read_text()
    keep(folder)
    (folder / "start.json").write_text(orders)
    refused = keep(folder)
    assert refused.stderr == "the agent of this folder has already been started\n"
    assert (folder / "ran").read_text() == "ran\n"


def test_an_agent_that_could_not_be_put_on_record_never_runs(folder: Path) -> None:
    (folder / "keeper.json.draft").mkdir()
    assert keep(folder).returncode == 1
    with (folder / "keeper.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # free once the would-be agent is gone as well
    assert not (folder / "ran").exists()


def test_a_full_disk_delays_the_record_until_there_is_room(folder: Path) -> None:
    (folder / "exit.json.draft").symlink_to("/dev/full")
    argv = [sys.executable, "-I", "-S", str(KEEPER), str(folder)]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as keeper:
        while not (folder / "ran").exists():
            assert keeper.poll() is None
        assert _ended_within(keeper, seconds=1.5) is None
        (folder / "exit.json.draft").unlink()
        assert _ended_within(keeper, seconds=20) == 0
    assert json.loads((folder / "exit.json").read_text())["code"] == 0


def test_a_keeper_that_is_told_to_stop_does_not_wait_for_room(folder: Path) -> None:
    (folder / "exit.json.draft").symlink_to("/dev/full")
    argv = [sys.executable, "-I", "-S", str(KEEPER), str(folder)]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as keeper:
        assert _ended_within(keeper, seconds=1.5) is None
        keeper.terminate()
        assert _ended_within(keeper, seconds=20) == 1
    assert not (folder / "exit.json").exists()


def _ended_within(keeper: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return keeper.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


LOADED = """
import sys
_, keeper, folder = sys.argv
sys.argv = [keeper, folder]
exec(open(keeper).read(), {"__name__": "__main__", "__file__": keeper})
open("loaded", "w").write(" ".join(sys.modules))
"""


OURS = {"codefleet", "codefleet.lean_json", "codefleet.runner", "codefleet.runner.process"}
SLOW = {"contextlib", "ctypes", "enum", "functools", "importlib", "json", "pathlib", "re", "typing"}


@pytest.mark.parametrize("platform", ["linux", "posix"])
def test_a_keeper_loads_only_the_standard_library_and_its_platform(
    folder: Path, platform: str
) -> None:
    loaded = _loaded(folder, platform)
    foreign = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    ours = {name for name in foreign if f"{name}.".startswith("codefleet.platform.")}
    assert ours
    assert foreign - ours == {"__main__", "codefleet.runner.process.keep", *OURS}


@pytest.mark.linux
def test_a_keeper_loads_nothing_that_takes_longer_than_its_own_start(folder: Path) -> None:
    assert not SLOW & _loaded(folder, "")


def _loaded(folder: Path, platform: str) -> set[str]:
    """The modules that a keeper loads for one run."""
    env = {**os.environ, "FLEET_PLATFORM": platform}
    argv = [sys.executable, "-I", "-S", "-c", LOADED, str(KEEPER), str(folder)]
    subprocess.run(argv, env=env, check=True, timeout=60, capture_output=True)
    return {*(folder / "loaded").read_text().split()}
