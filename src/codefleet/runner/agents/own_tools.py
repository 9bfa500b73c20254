"""What lets the agent of a run act through the fleet's tools as that run, and as no other."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from codefleet.domain.model import RunId
from codefleet.fleet import Fleet

FILE = "token"
VARIABLE = "FLEET_TOKEN_FILE"


def offered(fleet: Fleet, token: Path, *, wanted: bool) -> Sequence[str]:
    """How an agent starts its tools; not at all where they, or their library, are not there."""
    return call(fleet.home, token) if wanted and find_spec("mcp") else ()


def grant(fleet: Fleet, run: RunId, folder: Path) -> Path:
    """Write the run's token where only its owner can read it; the same one each time."""
    file = folder / FILE
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(fleet.token(run))
    return file


def call(home: Path, token: Path) -> tuple[str, ...]:
    """How an agent program starts the MCP server of its run. The token itself is in no argument."""
    program = (sys.executable, "-m", "codefleet", "--home", str(home), "mcp")
    return (*program, "--toolsets", "agent", "--token-file", str(token))
