"""Commands that the fleet runs itself: split into words like a shell's, but without a shell."""

import re
from collections.abc import Iterable

from codefleet.domain.errors import Invalid

QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
FOR_A_SHELL = re.compile(r"&&?|\|\|?|.*;|\d*[<>].*|&>.*")
"""Words that only a shell interprets: a program would get them as plain arguments."""


def valid(commands: Iterable[str]) -> None:
    """Refuse commands that could never run, or would not do what they seem to."""
    for command in commands:
        if not _words(command):
            raise Invalid("a command is empty", hint="name a program and its arguments")
        if "\0" in command:
            raise Invalid(f"the command {command!r} contains a NUL", hint="remove it")
        if found := _for_a_shell(command):
            raise Invalid(
                f"{command!r} runs without a shell, so {found!r} would be an argument",
                hint=f"for a shell, write sh -c '...'; for an argument, quote it: \"{found}\"",
            )


def _words(command: str) -> list[str]:
    import shlex  # imported here, because few commands need it

    try:
        return shlex.split(command)
    except ValueError:
        raise Invalid(
            f"the command {command!r} has an unclosed quote", hint="close the quote"
        ) from None


def _for_a_shell(command: str) -> str | None:
    unquoted = QUOTED.sub("_", command).split()
    return next((word for word in unquoted if FOR_A_SHELL.fullmatch(word)), None)
