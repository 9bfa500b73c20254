"""Files that only their owner can read, whatever the umask."""

import os
from pathlib import Path
from typing import IO


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can access; an existing one is closed to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)


def open_text(
    file: Path, flags: int = os.O_CREAT | os.O_EXCL, *, errors: str = "replace"
) -> IO[str]:
    """Open a file for writing text that only its owner can read."""
    handle = os.open(file, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
    os.fchmod(handle, 0o600)
    return os.fdopen(handle, "w", encoding="utf-8", errors=errors)
