"""The real program in a process of its own, forked from one that has imported it already.

Importing takes most of the time in which a server starts. Tests of how the program itself starts
start it anew.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from threading import Thread
from typing import Any

from codefleet.doors.cli import main

IMPORTED = (
    "codefleet.doors.agent_tools",
    "codefleet.doors.cli.program",
    "codefleet.doors.cli.serve",
    "codefleet.doors.http.prometheus",
    "codefleet.doors.http.serve",
    "codefleet.doors.mcp.shared",
    "codefleet.runner.loop",
    "codefleet.store.sqlite.store",
)
"""What a server imports when it starts, or when it is asked the first time."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__, *IMPORTED])


class Forked:
    """What tests use of `subprocess.Popen`."""

    def __init__(self, *args: str) -> None:
        self._stdout = tempfile.TemporaryFile()  # noqa: SIM115 - `finished` closes it
        reader, writer = os.pipe()
        self.stderr = os.fdopen(reader, encoding="utf-8")
        streams = (DupFd(self._stdout.fileno()), DupFd(writer))
        given = (args, streams, dict(os.environ), Path.cwd())
        self._process = _processes.Process(target=_run, args=given, daemon=True)
        self._process.start()
        os.close(writer)

    @property
    def pid(self) -> int:
        assert self._process.pid
        return self._process.pid

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("fleet", timeout or 0)
        return self._process.exitcode

    def finished(self, timeout: float) -> bytes:
        """Wait for the end, however much it still says; all that it wrote to stdout."""
        with self._stdout, self.stderr:
            listening = Thread(target=self.stderr.read, daemon=True)
            listening.start()
            self.wait(timeout)
            listening.join(timeout)
            self._stdout.seek(0)
            return self._stdout.read()


def _run(args: Sequence[str], streams: Sequence[Any], env: Mapping[str, str], folder: Path) -> None:
    for number, stream in enumerate(streams, start=1):
        held = stream.detach()
        os.dup2(held, number)
        os.close(held)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", 1, "utf-8", closefd=False) for n in (1, 2))
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = ["fleet", *args]
    main(args)
