"""Values with a password, kept out of the process list: read from stdin or a file."""

import sys
from pathlib import Path

from codefleet.domain.errors import Invalid

LONGEST = 1 << 16


def secret_text(said: str) -> str:
    """The value as given; `-` reads stdin, and `@FILE` reads a file."""
    if said == "-":
        return sys.stdin.read(LONGEST).strip()
    if not said.startswith("@"):
        return said
    file = Path(said[1:]).expanduser()
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(LONGEST).strip()
    except (OSError, UnicodeDecodeError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "it is not UTF-8 text"
        raise Invalid(f"cannot read {file}: {why}", hint="name a file after the @") from None
