"""A PATH without agent programs, so that tests mean the same on every machine."""

import os
import tempfile
from pathlib import Path

AGENTS = ("claude", "codex", "gemini", "opencode", "goose", "aider", "copilot", "agy", "agent")


def without_agents(path: str) -> str:
    """The same PATH; a folder that contains an agent program is replaced by links to the rest."""
    return os.pathsep.join(
        _thinned(folder) if any((Path(folder) / name).exists() for name in AGENTS) else folder
        for folder in path.split(os.pathsep)
        if folder
    )


def _thinned(folder: str) -> str:
    links = Path(tempfile.mkdtemp(prefix="fleet-tests-path-"))
    for program in Path(folder).iterdir():
        if program.name not in AGENTS:
            (links / program.name).symlink_to(program)
    return str(links)
