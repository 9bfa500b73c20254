"""No key is stored: records of a run are redacted before writing, its files when it has ended."""

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from codefleet.domain.errors import Workspace
from codefleet.domain.noun import Noun
from codefleet.domain.secrets import redact, redact_bytes

CHUNK = 1 << 18
LONGEST_WORDS = 1 << 17
LONGEST_PEM = 16 << 10
SHORT_MARGIN = 256
PEM_BEGIN, PEM_END = b"-----BEGIN ", b"-----END "


def abridged(text: str, known: Collection[str]) -> str:
    """The text redacted and, if huge, cut to its two ends, which are all that is ever stored.

    Each end is redacted with a margin before it is cut, so that no key is cut in half.
    """
    if len(text) <= LONGEST_WORDS:
        return redact(text, known)
    kept = LONGEST_WORDS // 4
    margin = kept + max(LONGEST_PEM, 2 * max(map(len, known), default=0))
    start, end = redact(text[:margin], known)[:kept], redact(text[-margin:], known)[-kept:]
    return f"{start}\n[{len(text) - 2 * kept} characters left out]\n{end}"


def redacted(
    it: Any, known: Collection[str], clean_text: Callable[[str, Collection[str]], str] = redact
) -> Any:
    """The same value with every text inside it redacted."""
    match it:
        case str() if type(it) is str:
            return clean_text(it, known)
        case Noun():
            inside = {name: getattr(it, name) for name in type(it).__struct_fields__}
            clean = {name: redacted(value, known, clean_text) for name, value in inside.items()}
            return it if clean == inside else it.evolve(**clean)
        case dict():
            return {name: redacted(value, known, clean_text) for name, value in it.items()}
        case list():
            return [redacted(value, known, clean_text) for value in it]
        case tuple():
            values = [redacted(value, known, clean_text) for value in it]
            return type(it)(*values) if hasattr(it, "_fields") else tuple(values)
    return it


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
        raise Workspace(
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
