"""Access for an agent to the fleet's tools, as its own run and no other."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from codefleet.coder import Endpoint
from codefleet.domain.model import RunId
from codefleet.domain.words import AgentTools
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch

FILE = "token"
SETTINGS = "settings.json"
ADDRESS = "tools.url"
EXCEPTIONS = ("NO_PROXY", "no_proxy")
NEEDED = ("FLEET_STORE", "FLEET_STORE_DIRECT", "FLEET_HOST")
VARIABLE = "FLEET_TOKEN_FILE"


def command(fleet: Fleet, token: Path, wanted: AgentTools) -> Sequence[str]:
    """The command that starts an agent's tools; empty if they are unwanted or not installed."""
    return call(fleet.home, token) if wanted is not AgentTools.OFF and find_spec("mcp") else ()


def endpoint(token: Path, wanted: AgentTools, url: str) -> Endpoint | None:
    """Where an agent reaches its tools over HTTP, if it should and somebody serves them.

    It is noted beside the token, for a runner that adopts the agent.
    """
    if wanted is not AgentTools.HTTP or not url:
        return None
    token.with_name(ADDRESS).write_text(url)
    return Endpoint(url, token.read_text(encoding="utf-8"))


def reached_directly(env: Mapping[str, str]) -> Mapping[str, str]:
    """What an agent's environment needs so that no proxy comes between it and its tools."""
    if not any(name.lower().endswith("_proxy") for name in env):
        return {}
    known = [env[name] for name in EXCEPTIONS if env.get(name)]
    return dict.fromkeys(EXCEPTIONS, ",".join([*known[:1], "127.0.0.1"]))


def lost(folder: Path, url: str) -> str:
    """A warning if the agent of this folder uses an address that its tools no longer have."""
    try:
        old = (folder / ADDRESS).read_text()
    except OSError:
        return ""
    if old == url:
        return ""
    return f"its tools are no longer at {old}, where it looks for them: it works without them"


def grant(fleet: Fleet, run: RunId, folder: Path) -> Path:
    """Write the run's token where only its owner can read it; the same one each time."""
    file = folder / FILE
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(Dispatch(fleet).token(run))
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
