"""What a tool call is about, in a few words, whatever its program calls the arguments."""

from codefleet.coders.jsonl import text

COMMANDS = ("command", "cmd")
TELLING = (
    *COMMANDS,
    *("file_path", "filePath", "path", "pattern", "url", "query", "description", "prompt"),
)

PATHS = ("file_path", "filePath", "notebook_path", "path")


def detail(arguments: object) -> str:
    """The most informative argument; empty if there is none."""
    if not isinstance(arguments, dict):
        return ""
    return next(filter(None, (_line(arguments.get(name)) for name in TELLING)), "")


def paths(arguments: object) -> tuple[str, ...]:
    """The files that a tool is used on, as the agent names them.

    A tool that runs a command is judged by the command: a path next to it says nothing about that.
    """
    given = arguments if isinstance(arguments, dict) else {}
    if any(given.get(name) for name in COMMANDS):
        return ()
    return tuple(filter(None, (text(given.get(name)) for name in PATHS)))


def _line(value: object) -> str:
    if isinstance(value, list):
        return " ".join(filter(None, map(text, value)))
    return text(value)
