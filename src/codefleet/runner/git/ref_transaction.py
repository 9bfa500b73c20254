"""Moving a ref in two steps, locked and then moved, or several refs at once."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from codefleet.runner.git.git import Done, Git

HELD = b"prepare: ok\n"


async def move_ref(
    git: Git, ref: str, old: str, new: str, *, lock: int, when_held: Callable[[], None]
) -> Done:
    """Set a ref from `old` to `new`, and call `when_held` while it is locked and still at `old`.

    If that fails, the ref stays where it is: git releases it at the end of its input.
    """
    words = ("update-ref", "-m", "fleet: land", "--stdin")
    process = await git.start(*words, holds=[lock])
    assert process.stdin
    try:
        await _tell(process, f"start\nupdate {ref} {new} {old}\nprepare\n")
        if await _is_held(process):
            when_held()
            await _tell(process, "commit\n")
    finally:
        process.stdin.close()
        _, err = await process.communicate()
    return Done(process.returncode or 0, "", err.decode(errors="replace").strip())


async def change_refs(git: Git, lines: Sequence[str], why: str) -> Done:
    """Change several refs at once, or none; each is changed itself, even if it names another."""
    text = "".join(f"option no-deref\n{line}\n" for line in lines)
    return await git.run("update-ref", "-m", why, "--stdin", stdin=f"start\n{text}commit\n")


async def _is_held(process: asyncio.subprocess.Process) -> bool:
    assert process.stdout
    while line := await process.stdout.readline():
        if line == HELD:
            return True
    return False


async def _tell(process: asyncio.subprocess.Process, words: str) -> None:
    assert process.stdin
    with suppress(ConnectionError):  # git has exited, and its exit code shows why
        process.stdin.write(words.encode())
        await process.stdin.drain()
