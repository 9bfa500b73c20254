"""Short-lived children of ours: a pidfd tells of their end, so that no thread has to wait."""

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from codefleet.platform.parts import Files


def unnamed_file() -> int:
    return os.memfd_create("output", os.MFD_CLOEXEC)


async def start(
    argv: Sequence[str],
    files: Files,
    *,
    cwd: Path,
    env: Mapping[str, str],
    pass_fds: Sequence[int],
    leads: bool,
) -> "Child":
    process = subprocess.Popen(  # noqa: ASYNC220  # asyncio calls the same
        argv,
        stdin=files.stdin,
        stdout=files.stdout,
        stderr=files.stderr,
        cwd=cwd,
        env=env,
        pass_fds=pass_fds,
        start_new_session=leads,
    )
    return Child(process)


class Child:
    """It is reaped as soon as it ends, whoever still waits for it then."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.pid = process.pid
        self.returncode: int | None = None
        self._process = process
        self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            self._handle = os.pidfd_open(process.pid)
        except OSError:
            process.kill()  # nobody would notice its end
            process.wait()
            raise
        self._loop.add_reader(self._handle, self._reap)

    def kill(self) -> None:
        if self.returncode is None:
            self._process.kill()

    async def wait(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    def _reap(self) -> None:
        self._loop.remove_reader(self._handle)
        os.close(self._handle)
        self.returncode = self._process.wait()
        self._over.set()
