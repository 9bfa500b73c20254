"""Files with secrets in the home: readable only by the owner, and complete or absent."""

import os
from pathlib import Path

from codefleet.domain.errors import Refused

KEY_BYTES = 32
LEAST = 32
"""The fewest characters that a secret may have."""


def secret(file: Path) -> bytes:
    """The secret in this file; created if there is none."""
    try:
        return read(file)
    except FileNotFoundError:
        create(file, new_secret())
    return read(file)


def read(file: Path) -> bytes:
    """The secret in this file, which must exist; refused if too short to be secret."""
    found = file.read_bytes().strip()
    if len(found) < LEAST:
        raise Refused(
            f"{file} has {len(found)} characters; a secret needs at least {LEAST}",
            hint="delete the file: a new secret is created at the next start",
        )
    return found


def new_secret() -> str:
    """A secret of 256 bits."""
    import secrets  # imported here, because it is slow and few commands need it

    return secrets.token_hex(KEY_BYTES)


def create(file: Path, text: str) -> None:
    """Write a new file; of several at the same moment, the first one wins."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(file, text)
    try:
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def replace(file: Path, text: str) -> None:
    """Write a file anew; whoever reads meanwhile gets the old or the new text."""
    _draft(file, text).replace(file)


def _draft(file: Path, text: str) -> Path:
    import secrets  # as above

    draft = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
    return draft
