"""Files of a run without keys: redacted when nobody writes to them any more."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.secrets import redact_bytes

CHUNK = 1 << 18
LONGEST_PEM = 16 << 10
SHORT_MARGIN = 256
PEM_BEGIN, PEM_END = b"-----BEGIN ", b"-----END "


def redact_file(path: Path, known: Collection[str]) -> None:
    """Redact a file that nobody writes to any more, atomically and without moving any byte."""
    try:
        with path.open("rb") as file:
            is_clean = all(is_clean for _, is_clean in _cleaned(file, known))
        if not is_clean:
            _replace(path, known)
    except FileNotFoundError:
        return
    except OSError as trouble:
        raise WorkspaceTrouble(
            f"cannot redact {path}: {trouble.strerror}", hint="is the disk full?"
        ) from None


def _replace(path: Path, known: Collection[str]) -> None:
    draft = path.with_name(f"{path.name}.draft")
    draft.touch(mode=0o600)
    with path.open("rb") as file, draft.open("wb") as out:
        for piece, _ in _cleaned(file, known):
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)


def _cleaned(file: BinaryIO, known: Collection[str]) -> Iterator[tuple[bytes, bool]]:
    """The redacted file, piece by piece, and whether each piece was clean before.

    The end of each piece is checked again with the next: a value may span the two.
    """
    margin = 4 * max(map(len, known), default=0) + SHORT_MARGIN
    held = b""
    for piece in _pieces(file):
        before = held + piece
        clean = redact_bytes(before, known)
        held = clean[-margin:]
        yield clean[:-margin], clean == before
    yield held, True


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The file in pieces that end at a line end, and never inside a private key."""
    while piece := file.read(CHUNK):
        piece += file.readline()
        begun = piece.rfind(PEM_BEGIN, -LONGEST_PEM)
        while begun >= 0 and PEM_END not in piece[begun:] and len(piece) - begun < LONGEST_PEM:
            line = file.readline()
            if not line:
                break
            piece += line
        yield piece
