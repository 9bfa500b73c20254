"""Access for an agent to the fleet's tools, as its own run and no other."""

import json
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from codefleet.domain.model import RunId
from codefleet.fleet import Fleet

FILE = "token"
SETTINGS = "settings.json"
NEEDED = ("FLEET_STORE", "FLEET_STORE_DIRECT", "FLEET_HOST")
VARIABLE = "FLEET_TOKEN_FILE"


def offered(fleet: Fleet, token: Path, *, wanted: bool) -> Sequence[str]:
    """The command that starts an agent's tools; empty if they are unwanted or not installed."""
    return call(fleet.home, token) if wanted and find_spec("mcp") else ()


def grant(fleet: Fleet, run: RunId, folder: Path) -> Path:
    """Write the run's token where only its owner can read it; the same one each time."""
    file = folder / FILE
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(fleet.token(run))
    _note_settings(folder / SETTINGS)
    return file


def _note_settings(file: Path) -> None:
    """Keep what the tools need and the agent's environment lacks: where the store is.

    Its address may contain a password, so the agent gets it neither as argument nor as variable.
    """
    needed = {name: os.environ[name] for name in NEEDED if name in os.environ}
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(needed, out)


def recall_settings(token: Path) -> None:
    """Load the runner's store settings in the process that serves a run's tools."""
    try:
        known = json.loads(token.with_name(SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # a run from before this file existed
    os.environ.update({name: str(known[name]) for name in NEEDED if name in known})


def call(home: Path, token: Path) -> tuple[str, ...]:
    """The command that starts the MCP server of a run. The token itself is in no argument."""
    program = (sys.executable, "-m", "codefleet", "--home", str(home), "mcp")
    return (*program, "--toolsets", "agent", "--token-file", str(token))
