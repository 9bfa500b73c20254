"""Locks between processes."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from codefleet.runner.git.locks import held

HOLD = """
import asyncio, sys
from pathlib import Path
from codefleet.runner.git.locks import held
async def main():
    async with held(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
asyncio.run(main())
"""


async def test_of_many_who_want_a_lock_one_at_a_time_has_it(tmp_path: Path) -> None:
    inside: list[int] = []

    async def visit(number: int) -> None:
        async with held(tmp_path / "deep" / "lock"):
            inside.append(number)
            await asyncio.sleep(0)
            assert inside == [number]
            inside.clear()

    await asyncio.gather(*map(visit, range(10)))


async def test_a_killed_holder_holds_no_longer(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    other = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", HOLD, str(lock)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout
    assert await other.stdout.readline() == b"held\n"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), held(lock):
            raise AssertionError("two held it")
    other.send_signal(signal.SIGKILL)
    await other.communicate()
    async with asyncio.timeout(30), held(lock):
        pass
