"""The programs behind coders: whether they are installed here, and how to get them."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from codefleet.coder import Coder, Probed, Start
from codefleet.coders import registry
from codefleet.coders.script_text import blocks
from codefleet.config import Config
from codefleet.domain.errors import FleetError, NotFound
from codefleet.domain.model import Task
from codefleet.runner.programs.probe import program as called_by


def program_of(coder: Coder, options: Mapping[str, object]) -> str | None:
    """The program that a run would start, if known."""
    argv = options.get("argv")
    named = argv[0] if isinstance(argv, list) and argv else options.get("program")
    usual: str | None = getattr(coder, "program", None)
    return str(named) if named else usual


def missing(name: str, config: Config) -> str:
    """The message about a coder that is not installed, or whose program is not; else empty."""
    try:
        coder = registry.coder(name)
    except FleetError as wrong:
        return f"{wrong.problem}: {wrong.hint}"
    program = program_of(coder, config.coders.get(name, {}))
    if program is None or shutil.which(program):
        return ""
    return f"{program} is not installed here: {_remedy(coder)}"


def without_script(task: Task, coder: str, config: Config) -> str:
    """The message about a task for the scripted agent that contains no script; else empty."""
    given = {**config.coders.get(coder, {}), **task.options}
    if coder != "scripted" or "scripts" in given or any(blocks(task.prompt, "fleet")):
        return ""
    return (
        f"task {task.id} goes to `scripted`, which only runs scripts, but it contains none: "
        "choose an agent with --coder, or for all tasks: `fleet config set coder NAME`"
    )


def refuse_missing(coder: Coder, start: Start, env: Mapping[str, str], worktree: Path) -> None:
    """Refuse to start a program that is not installed, and explain how to get it."""
    program = called_by(start.argv)
    is_path = "/" in program
    wanted = str(worktree / program) if is_path else program
    if not shutil.which(wanted, path=env.get("PATH")):
        problem = f"{program} is not installed here: {_remedy(coder)}"
        raise NotFound(problem, hint="then `fleet retry TASK`")


def _remedy(coder: Coder) -> str:
    install, option = "", "argv"
    if isinstance(coder, Probed):
        install, option = coder.probe.install, "program"
    setting = f"coders.{coder.name}.{option}"
    first = f"install it (`{install}`)" if install else "install it"
    return f"{first}, or name another program: `fleet config set {setting} ...`"
