"""No key is stored: what is written about a run is redacted before, its files when it has ended."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from codefleet.domain.errors import Workspace
from codefleet.domain.model import Noun
from codefleet.domain.secrets import redact, redact_bytes

CHUNK = 4 << 20
LONGEST_PEM = 16 << 10
PEM_BEGIN, PEM_END = b"-----BEGIN ", b"-----END "


def redacted(it: Any, known: Collection[str]) -> Any:
    """The same value with every text inside it redacted."""
    match it:
        case str() if type(it) is str:
            return redact(it, known)
        case Noun():
            inside = {name: getattr(it, name) for name in type(it).model_fields}
            clean = {name: redacted(value, known) for name, value in inside.items()}
            return it if clean == inside else it.evolve(**clean)
        case dict():
            return {name: redacted(value, known) for name, value in it.items()}
        case list():
            return [redacted(value, known) for value in it]
        case tuple():
            values = [redacted(value, known) for value in it]
            return type(it)(*values) if hasattr(it, "_fields") else tuple(values)
    return it


def redact_file(path: Path, known: Collection[str]) -> None:
    """Redact a file that nobody writes to any more: whole or not at all, each byte in its place."""
    try:
        with path.open("rb") as file:
            is_clean = all(redact_bytes(piece, known) == piece for piece in _pieces(file))
        if not is_clean:
            _replace(path, known)
    except FileNotFoundError:
        return
    except OSError as trouble:
        raise Workspace(
            f"cannot take the keys out of {path}: {trouble.strerror}", hint="is the disk full?"
        ) from None


def _replace(path: Path, known: Collection[str]) -> None:
    draft = path.with_name(f"{path.name}.draft")
    draft.touch(mode=0o600)
    with path.open("rb") as file, draft.open("wb") as out:
        for piece in _pieces(file):
            out.write(redact_bytes(piece, known))
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The file in pieces that end with a line, and with none in the middle of a private key."""
    while piece := file.read(CHUNK):
        piece += file.readline()
        begun = piece.rfind(PEM_BEGIN, -LONGEST_PEM)
        while begun >= 0 and PEM_END not in piece[begun:] and len(piece) - begun < LONGEST_PEM:
            line = file.readline()
            if not line:
                break
            piece += line
        yield piece
