"""Commands that the fleet runs itself: split into words as a shell does, but without a shell."""

import re
from collections.abc import Iterable

from codefleet.domain.errors import Invalid

QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
FOR_A_SHELL = re.compile(r"&&?|\|\|?|.*;|\d*[<>].*|&>.*")
"""Words that only a shell obeys: to a program they would be plain arguments."""


def valid(commands: Iterable[str]) -> None:
    """Refuse commands that could never run, or not as they read."""
    for command in commands:
        if not _words(command):
            raise Invalid("a command is empty", hint="say a program and its arguments")
        if "\0" in command:
            raise Invalid(f"no program can be given {command!r}", hint="leave out its NUL")
        if found := _for_a_shell(command):
            raise Invalid(
                f"no shell reads {command!r}, so {found!r} would be an argument",
                hint=f"let a shell do it: sh -c '...'; a real argument is quoted: \"{found}\"",
            )


def _words(command: str) -> list[str]:
    import shlex  # here, because few commands of the program look at checks

    try:
        return shlex.split(command)
    except ValueError:
        raise Invalid(
            f"the command {command!r} has a quote without its end", hint="close the quote"
        ) from None


def _for_a_shell(command: str) -> str | None:
    unquoted = QUOTED.sub("_", command).split()
    return next((word for word in unquoted if FOR_A_SHELL.fullmatch(word)), None)
