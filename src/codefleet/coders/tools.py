"""What a tool call is about, in a few words, whatever its program calls the arguments."""

import posixpath

from codefleet.coders.jsonl import text

TELLING = (
    *("command", "cmd", "file_path", "filePath", "path", "pattern", "url", "query"),
    *("description", "prompt"),
)

PATHS = ("file_path", "filePath", "notebook_path", "path")


def detail(arguments: object) -> str:
    """The argument that tells most; nothing when there is none."""
    if not isinstance(arguments, dict):
        return ""
    return next(filter(None, (_line(arguments.get(name)) for name in TELLING)), "")


def target(arguments: object) -> str:
    """What a tool is to be used on, for rules to match: no path can hide behind `..`."""
    if isinstance(arguments, dict):
        for name in PATHS:
            if path := text(arguments.get(name)):
                return posixpath.normpath(path)
    return detail(arguments)


def _line(value: object) -> str:
    if isinstance(value, list):
        return " ".join(filter(None, map(text, value)))
    return text(value)
