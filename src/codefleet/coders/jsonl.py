"""The fleet's own line protocol: what any program can print to report to the fleet.

One JSON object per line of standard output; `type` says what it is. Fields with a star are
required, the others are optional. Lines of another type, and other fields, are ignored.

| type       | fields                                                       | meaning              |
|------------|--------------------------------------------------------------|----------------------|
| `started`  | `session`, `model`                                           | what to resume later |
| `said`     | `text`*, `more` (it continues the last one)                  | text for the log     |
| `thought`  | `text`*                                                      | what it thinks       |
| `tool`     | `name`*, `detail`, `done`                                    | a call starts, ends  |
|            | `call` (its id), `result` (what came out)                    |                      |
| `file`     | `path`*, `change` (added, modified or deleted)               | a file was changed   |
| `usage`    | `input_tokens`, `output_tokens`, `cached_tokens`, `cost_usd` | used since the last  |
|            | `in_all` (the total of the session so far)                   |                      |
| `context`  | `used`*, `size` (in tokens)                                  | context used         |
| `limit`    | `text`, `resets_at` (ISO 8601 or Unix seconds)               | no more work until   |
|            | `quota` (the quota is used up; else it is a rate limit)      |                      |
| `asks`     | `text`*, `options`                                           | a human must answer  |
| `wants`    | `request`*, `tool`*, `detail`, `input`                       | may I use this tool? |
|            | `paths` (the files that a file tool is used on)              |                      |
| `finished` | `text`, `no_changes`                                         | it reports success   |
| `broke`    | `text`, `reason` (one of the fleet's failure reasons)        | it cannot continue   |
|            | `passing` (temporary trouble at its provider)                |                      |

A program that listens while it runs gets lines of the same kind on its standard input, the prompt
being the first. It ignores a line whose id it already knows. After each turn it prints `finished`
and waits for more; it ends at the end of its input.

| type       | fields                         | meaning                                            |
|------------|--------------------------------|----------------------------------------------------|
| `say`      | `id`*, `text`*                 | a message for the agent, handled in its own turn   |
| `permit`   | `request`*, `allowed`*, `why`  | the answer to `wants`                              |
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    ADDED,
    DELETED,
    MODIFIED,
    Asks,
    Broke,
    Changed,
    Filled,
    Finished,
    Limited,
    Said,
    Signal,
    Started,
    Thought,
    Tool,
    Used,
    Wants,
)
from codefleet.domain.words import Reason

MOST = 10**15  # a larger number is noise

Fields = Mapping[str, Any]


def read(line: str) -> Iterator[Signal]:
    """What one line means; nothing if it is not one of ours."""
    fields = parsed(line)
    kind = fields.get("type")
    reader = READERS.get(kind) if isinstance(kind, str) else None
    signal = reader(fields) if reader else None
    if signal is not None:
        yield signal


def parsed(line: str) -> Fields:
    """The JSON object on this line; an empty one if there is none."""
    if not line.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def first_object(said: str) -> Fields:
    """The JSON object that spans some lines, with other text around it."""
    return parsed(said[said.find("{") : said.rfind("}") + 1])


def text(value: object) -> str:
    """Text that can be stored and shown: lone surrogates, which JSON allows, are replaced."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def amount(value: object) -> float:
    """A number that can be added up, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if 0 <= value <= MOST and math.isfinite(value) else 0


def moment(value: object) -> datetime | None:
    """A moment from ISO 8601 or Unix seconds; UTC if it has no time zone."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def say(id: str, text: str) -> str:
    """The line that sends a message to a program that listens."""
    return json.dumps({"type": "say", "id": id, "text": text})


def permit(request: str, *, allowed: bool, why: str = "") -> str:
    """The line that answers a `wants`."""
    answer = {"type": "permit", "request": request, "allowed": allowed, "why": why}
    return json.dumps(answer)


def _started(fields: Fields) -> Signal:
    return Started(text(fields.get("session")) or None, text(fields.get("model")) or None)


def _said(fields: Fields) -> Signal | None:
    words = text(fields.get("text"))
    return Said(words, fields.get("more") is True) if words else None


def _tool(fields: Fields) -> Signal | None:
    name, told = text(fields.get("name")), text(fields.get("detail"))
    call, result = text(fields.get("call")), text(fields.get("result"))
    return Tool(name, told, fields.get("done") is True, call, result) if name else None


def _thought(fields: Fields) -> Signal | None:
    words = text(fields.get("text"))
    return Thought(words) if words else None


def _file(fields: Fields) -> Signal | None:
    path, change = text(fields.get("path")), fields.get("change")
    return Changed(path, change if change in (ADDED, DELETED) else MODIFIED) if path else None


def _usage(fields: Fields) -> Signal:
    return Used(
        Usage(
            input_tokens=int(amount(fields.get("input_tokens"))),
            output_tokens=int(amount(fields.get("output_tokens"))),
            cached_tokens=int(amount(fields.get("cached_tokens"))),
            cost_usd=float(amount(fields.get("cost_usd"))),
        ),
        in_all=fields.get("in_all") is True,
    )


def _context(fields: Fields) -> Signal | None:
    used = int(amount(fields.get("used")))
    return Filled(used, int(amount(fields.get("size")))) if used else None


def _limit(fields: Fields) -> Signal:
    until, quota = moment(fields.get("resets_at")), fields.get("quota") is True
    return Limited(text(fields.get("text")), until, quota)


def _asks(fields: Fields) -> Signal | None:
    question = text(fields.get("text"))
    return Asks(question, _texts(fields.get("options"))) if question else None


def _wants(fields: Fields) -> Signal | None:
    request, tool = text(fields.get("request")), text(fields.get("tool"))
    given, paths = text(fields.get("input")) or "{}", _texts(fields.get("paths"))
    about = text(fields.get("detail"))
    return Wants(request, tool, about, given, paths) if request and tool else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(filter(None, map(text, value if isinstance(value, list) else [])))


def _finished(fields: Fields) -> Signal:
    return Finished(text(fields.get("text")), fields.get("no_changes") is True)


def _broke(fields: Fields) -> Signal:
    reason = fields.get("reason")
    known = reason if reason in list(Reason) else Reason.UNKNOWN
    return Broke(text(fields.get("text")), str(known), fields.get("passing") is True)


READERS: Mapping[str, Callable[[Fields], Signal | None]] = {
    "started": _started,
    "said": _said,
    "thought": _thought,
    "tool": _tool,
    "file": _file,
    "usage": _usage,
    "context": _context,
    "limit": _limit,
    "asks": _asks,
    "wants": _wants,
    "finished": _finished,
    "broke": _broke,
}
