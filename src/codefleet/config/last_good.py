"""The last settings that worked, for readers while `fleet.toml` is broken."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from codefleet.config.layers import FILE, read
from codefleet.config.loading import load
from codefleet.config.settings import Config
from codefleet.domain.errors import BadConfig

COPY = f".{FILE}.last-good"
STORE = re.compile(r"^\s*[\"']?store", re.MULTILINE)


def remember(home: Path) -> None:
    """Keep a copy of the home's file, which has just been read without an error."""
    file, copy = home / FILE, home / COPY
    with suppress(OSError):
        text = file.read_bytes()
        if copy.exists() and copy.read_bytes() == text:
            return
        draft = home / f"{COPY}.{os.getpid()}"
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as kept:
            kept.write(text)
        draft.replace(copy)


def load_anyway(home: Path, wrong: BadConfig, env: Mapping[str, str]) -> Config:
    """The last good settings, or the defaults; raises `wrong` if that could be another fleet."""
    copy = home / COPY
    if not copy.exists() and STORE.search(read(home / FILE)) and not env.get("FLEET_STORE"):
        raise wrong
    try:
        return load(home, file=copy, env=env)
    except BadConfig:  # a variable is wrong, not the file
        raise wrong from None
