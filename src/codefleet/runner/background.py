"""A runner in the background: one per home, in its own process that outlives its starter.

It exits when there has been nothing to do for a while. Nothing queued meanwhile is overlooked: it
first leaves the list of runners and then checks the queue, while whoever queues work checks that
list afterwards.
"""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from codefleet.config.private import make_folder, open_text
from codefleet.domain.words import FINAL
from codefleet.fleet import Fleet
from codefleet.runner import peers
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from codefleet.wiring import open_fleet

PROGRAM = "codefleet.doors.background"
"""What runs `work`, with what only doors can offer to agents."""
LOOK_AGAIN_S = 0.05

Beside = Callable[[Context], AbstractAsyncContextManager[None]]


async def ensure_runner(fleet: Fleet) -> bool:
    """Start a runner if there is work but no runner; True if one was started."""
    if not await _has_work(fleet) or await has_live_runner(fleet):
        return False
    start(fleet.home)
    return True


async def has_live_runner(fleet: Fleet) -> bool:
    """Is any runner alive that serves the whole queue?"""
    return any(runner.workflow is None for runner in await peers.living(fleet))


def start(home: Path) -> int:
    """Start a process that becomes the background runner, or exits if there is one; its pid."""
    log = home / "logs" / "runner.log"
    make_folder(log.parent)
    with open_text(log, os.O_CREAT | os.O_APPEND) as output:
        child = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(home)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=home,
            start_new_session=True,
        )
    child.returncode = 0  # nobody waits for it: it is to outlive us
    return child.pid


async def work(home: Path, beside: Beside) -> None:
    """Be the only background runner of this home until it has been idle for long enough.

    `beside` is what is offered to its agents meanwhile.
    """
    async with open_fleet(home) as fleet:
        with _only_one(home) as lock:
            while not _taken(lock):
                if await has_live_runner(fleet):
                    return
                await asyncio.sleep(LOOK_AGAIN_S)
            context = Context(fleet)
            async with beside(context):
                await _run(context)


async def _run(context: Context) -> None:
    fleet, stopped = context.fleet, asyncio.Event()
    while not stopped.is_set():
        loop = Loop(context, until_idle=True, idle_s=fleet.config.idle_s)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _stop, loop, stopped)
        await loop.run()
        if await loop.is_idle():  # asked again, now that nobody relies on us any more
            return


def _stop(loop: Loop, stopped: asyncio.Event) -> None:
    loop.stop(firm=stopped.is_set())
    stopped.set()


async def _has_work(fleet: Fleet) -> bool:
    counts = await fleet.counts()
    return any(number for state, number in counts.items() if state not in FINAL)


@contextmanager
def _only_one(home: Path) -> Iterator[int]:
    """The file that the background runner keeps locked while it runs."""
    file = home / "locks" / "runner.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
