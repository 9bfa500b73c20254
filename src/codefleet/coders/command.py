"""The command coder: any program from the configuration, without a line of Python.

    [coders.command]
    argv = ["aider", "--yes-always", "--message-file={prompt_file}"]
    prompt = "file"                      # or "stdin", which is the default
    env = { AIDER_ANALYTICS = "false" }

Placeholders are replaced inside single arguments, which are never split and never reach a shell:
{prompt_file} {worktree} {model} {task} {run} {session}. {session} is the session to resume, or the
run's id for a fresh start. The program may print plain text, which is shown as its messages, lines
of the protocol in jsonl.py, or both; the exit code and git decide how the run went.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from codefleet.coder import Abilities, Assignment, Start
from codefleet.coders import jsonl
from codefleet.domain.errors import BadConfig
from codefleet.domain.signals import Said, Signal

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
OPTIONS = ("argv", "prompt", "env")
EXAMPLE = 'for example: fleet config set coders.command.argv \'["my-agent", "{prompt_file}"]\''


class Command:
    """Starts and reads the program that the options name."""

    name = "command"
    # Used only for a program that reported a session, and so promised to recognize it.
    abilities = Abilities(resume=True, verified=True)

    def start(self, assignment: Assignment) -> Start:
        options = assignment.options
        if unknown := sorted(set(options) - set(OPTIONS)):
            raise BadConfig(
                f"the command coder has no option {unknown[0]}",
                hint=f"it has: {', '.join(OPTIONS)}",
            )
        values = _values(assignment)
        return Start(
            argv=[_filled(part, values) for part in _argv(options)],
            env=_env(options),
            stdin=assignment.prompt if _by_stdin(options) else None,
        )

    def read(self, line: str) -> Iterator[Signal]:
        if jsonl.parsed(line):
            yield from jsonl.read(line)
        elif words := jsonl.text(line).strip():
            yield Said(words)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return iter(())


coder = Command()


def _values(assignment: Assignment) -> dict[str, str | None]:
    return {
        "prompt_file": str(assignment.prompt_file),
        "worktree": str(assignment.worktree),
        "model": assignment.run.model,
        "task": assignment.task.id,
        "run": assignment.run.id,
        "session": assignment.resume or assignment.run.id,
    }


def _filled(part: str, values: Mapping[str, str | None]) -> str:
    """One argument with its placeholders replaced in one pass, so that values are not expanded."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in values:
            raise BadConfig(
                f"coders.command.argv has an unknown placeholder {found[0]}",
                hint=f"use one of: {', '.join(f'{{{known}}}' for known in values)}",
            )
        given = values[name]
        if given is None:
            raise BadConfig(
                f"coders.command.argv uses {found[0]}, but the task has none",
                hint=f"give the task one with --{name}, or remove {found[0]}",
            )
        return given

    return PLACEHOLDER.sub(value, part)


def _argv(options: Mapping[str, object]) -> list[str]:
    argv = options.get("argv")
    if not isinstance(argv, list | tuple) or not argv or not all(map(_is_text, argv)):
        problem = "is not a list of strings" if argv else "is not set"
        raise BadConfig(f"coders.command.argv {problem}", hint=EXAMPLE)
    return list(argv)


def _env(options: Mapping[str, object]) -> dict[str, str]:
    env: Any = options.get("env", {})
    if not isinstance(env, Mapping) or not all(map(_is_text, [*env, *env.values()])):
        raise BadConfig(
            "coders.command.env is not a table of strings",
            hint='for example: env = { MY_SETTING = "on" }',
        )
    return dict(env)


def _by_stdin(options: Mapping[str, object]) -> bool:
    way = options.get("prompt", "stdin")
    if way not in ("stdin", "file"):
        raise BadConfig(
            f"coders.command.prompt is {way}", hint='use "stdin", or "file" with {prompt_file}'
        )
    if way == "file" and not any("{prompt_file}" in part for part in _argv(options)):
        raise BadConfig(
            "coders.command.argv has no {prompt_file}, so the agent would not see its prompt",
            hint='add {prompt_file} to argv, or set coders.command.prompt to "stdin"',
        )
    return way == "stdin"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value
