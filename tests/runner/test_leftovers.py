"""Whom a process belongs to, whatever it discards."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from codefleet.runner.process.leftovers import kill_tagged, living_in, mark, put_mark

BOUND_S = 60


def sleeper(**options: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]}, **options)  # type: ignore[call-overload,no-any-return] # any option of Popen


def test_marks_of_runs_differ_and_a_fleet_within_a_run_has_lower_ones() -> None:
    outer = mark("k3.1")
    assert outer
    assert outer != mark("k3.2")
    inner = mark("k3.1", outer)
    assert inner
    assert inner < outer
    assert mark("k3.1", 200_000) is None


@pytest.mark.linux
def test_a_sweep_finds_the_mark_of_every_depth(tmp_path: Path) -> None:
    tag = f"in {tmp_path}"
    with sleeper() as child:
        put_mark(child.pid, "an outer run")
        put_mark(child.pid, tag)
        limit = resource.prlimit(child.pid, resource.RLIMIT_RTTIME)[1]
        assert 0 < limit < (mark("an outer run") or 0)
        assert kill_tagged("an outer run") == 0
        assert kill_tagged(tag, "") == 1
        assert child.wait(BOUND_S) == -signal.SIGKILL


def test_nothing_belongs_to_no_tag() -> None:
    with sleeper() as child:
        child_env = {"PATH": os.environ["PATH"], "FLEET_RUN": ""}
        with subprocess.Popen(["sleep", "600"], env=child_env) as other:
            assert kill_tagged("") == 0
            other.kill()
        child.kill()


def test_who_lives_in_a_folder_is_seen_by_place_and_by_open_file(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    (folder / "deep").mkdir(parents=True)
    (tmp_path / "10").mkdir()
    with (
        (folder / "log").open("w") as log,
        sleeper(cwd=folder / "deep") as inside,
        sleeper(cwd="/", stdout=log) as writer,
        sleeper(cwd=tmp_path / "10") as beside,
    ):
        assert {it.pid for it in living_in(folder)} == {inside.pid, writer.pid}
        for child in (inside, writer, beside):
            child.kill()
    assert living_in(folder) == []
