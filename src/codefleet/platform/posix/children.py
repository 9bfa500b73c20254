"""Short-lived children of ours, as asyncio starts them: with a thread that waits for each."""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from codefleet.platform.parts import Files


def unnamed_file() -> int:
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


async def start(
    argv: Sequence[str],
    files: Files,
    *,
    cwd: Path,
    env: Mapping[str, str],
    pass_fds: Sequence[int],
    leads: bool,
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=files.stdin,
        stdout=files.stdout,
        stderr=files.stderr,
        cwd=cwd,
        env=env,
        pass_fds=pass_fds,
        start_new_session=leads,
    )
