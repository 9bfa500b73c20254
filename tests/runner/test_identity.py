"""A process is identified by pid and start time together."""

import asyncio
import signal
import subprocess

import psutil

from codefleet.runner.process.identity import Process
from tests.runner.yard import BOUND_S, until


async def test_a_process_is_known_by_its_start_and_not_by_its_pid_alone() -> None:
    with sleeper() as child:
        process = Process.find(child.pid)
        assert process is not None
        assert process.is_alive
        namesake = Process(process.pid, process.started + 100)
        assert not namesake.is_alive
        assert namesake.cpu_seconds() == 0
        namesake.send(signal.SIGKILL)
        async with asyncio.timeout(BOUND_S):
            await namesake.ended()
        assert process.is_alive
        process.send(signal.SIGKILL)
        assert child.wait(BOUND_S) == -signal.SIGKILL
    assert not process.is_alive


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "600"])


async def test_a_process_that_has_ended_but_is_not_reaped_is_dead() -> None:
    with sleeper() as child:
        child.kill()
        await until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
        assert Process.find(child.pid) is None
