"""The POSIX platform, which works on Linux too: what it sees, and what it follows."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from codefleet.platform.linux import children as linux_children
from codefleet.platform.linux import processes as linux
from codefleet.platform.parts import Children, Files
from codefleet.platform.posix import children, machine, marks, processes, ps
from codefleet.platform.posix.tree import Followed
from tests.runner.yard import until

SPAWN = "import subprocess, sys; subprocess.Popen(sys.argv[1:]); sys.stdin.read()"


@contextmanager
def waiter(**variables: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that waits, and has said a word: before, its arguments may not be there yet."""
    env, pipe = {"PATH": os.environ["PATH"], **variables}, subprocess.PIPE
    with subprocess.Popen(
        ["cat"], stdin=pipe, stdout=pipe, env=env, bufsize=0, start_new_session=True
    ) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(b"there\n")
        assert child.stdout.readline() == b"there\n"
        try:
            yield child
        finally:
            child.kill()


def test_a_start_is_the_same_second_for_all_who_ask() -> None:
    with waiter() as child:
        since = processes.started(child.pid)
        assert since
        assert abs(since - psutil.Process(child.pid).create_time()) <= ps.UNSURE_S + 1
        assert ps.everything()[child.pid].is_same(since)
        assert processes.is_alive(child.pid, since)
        assert not processes.is_alive(child.pid, since - 100)


@pytest.mark.linux
def test_both_platforms_tell_the_same_of_a_process() -> None:
    with waiter(FLEET_RUN="k3.1") as child:
        assert processes.arguments(child.pid) == linux.arguments(child.pid)
        for ask in ("program", "parent", "descendants"):
            assert getattr(processes, ask)(child.pid) == getattr(linux, ask)(child.pid)
        for platform in (processes, linux):
            assert [*platform.variables(child.pid, "FLEET_RUN")] == ["k3.1"]
            assert next(platform.places(child.pid)) == str(Path.cwd())
            assert child.pid in platform.pids()


@pytest.mark.linux
@pytest.mark.parametrize("children", [linux_children, children])
async def test_a_child_writes_into_files_and_tells_how_it_ended(children: Children) -> None:
    files = Files(*(children.unnamed_file() for _ in Files._fields))
    script = "echo said; echo warned >&2; kill -9 $$"
    child = await children.start(
        ["sh", "-c", script], files, cwd=Path.cwd(), env=os.environ, pass_fds=(), leads=True
    )
    assert await child.wait() == child.returncode == -signal.SIGKILL
    assert [os.pread(file, 99, 0) for file in files] == [b"", b"said\n", b"warned\n"]
    for file in files:
        os.close(file)


async def test_a_process_that_ended_is_noticed_though_nobody_reaped_it() -> None:
    with waiter() as child:
        since = processes.started(child.pid) or 0
        processes.send(child.pid, since, signal.SIGTERM)
        await processes.ended(child.pid, since)
        await processes.child_ended(child.pid)
        assert processes.started(child.pid) is None


def test_who_has_a_variable_is_found_by_its_whole_value() -> None:
    with waiter(FLEET_RUN="k3.1") as child, waiter(FLEET_RUN="k3.10") as other:
        assert ps.marked("FLEET_RUN=k3.1") == {child.pid}
        assert other.poll() is None


async def test_a_process_is_followed_after_its_parent_has_ended() -> None:
    with spawner() as agent:
        tree = Followed("FLEET_RUN=nobody's")
        await until(lambda: len(processes.descendants(agent.pid)) == 1)
        (orphan,) = processes.descendants(agent.pid)
        await until(lambda: os.getsid(orphan) == orphan)
        tree.look(agent.pid)
        agent.communicate()
        assert tree.living() == {orphan}
        tree.send(signal.SIGKILL, tree.living())
        await until(lambda: not tree.any_left())


def spawner() -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-c", SPAWN, "setsid", "sleep", "600"]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True)


def test_the_keepers_own_group_is_never_part_of_the_tree() -> None:
    with subprocess.Popen(["sleep", "600"]) as agent:  # in our own group and session
        tree = Followed("FLEET_RUN=nobody's")
        tree.look(agent.pid)
        assert tree.living() == {agent.pid}
        agent.kill()


def test_no_process_is_marked_and_files_are_not_watched(tmp_path: Path) -> None:
    assert marks.own() == 0
    assert machine.watch(tmp_path) is None
    assert machine.boot() == machine.pid_scope()
    assert machine.processes_left() > 0
    assert machine.memory_left() > 0


@pytest.mark.parametrize("ask", [processes.parent, processes.cpu_seconds, processes.memory_kb])
def test_nothing_is_known_of_a_process_that_is_gone(ask: object) -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    assert callable(ask)
    assert not ask(child.pid)
