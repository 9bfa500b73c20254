"""What a tool call is about, in a few words, whatever its program calls the arguments."""

from codefleet.coders.jsonl import text

TELLING = (
    *("command", "cmd", "file_path", "filePath", "path", "pattern", "url", "query"),
    *("description", "prompt"),
)


def detail(arguments: object) -> str:
    """The argument that tells most; nothing when there is none."""
    if not isinstance(arguments, dict):
        return ""
    return next(filter(None, (_line(arguments.get(name)) for name in TELLING)), "")


def _line(value: object) -> str:
    if isinstance(value, list):
        return " ".join(filter(None, map(text, value)))
    return text(value)
