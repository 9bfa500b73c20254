"""What an agent's messages mean, as lines of the fleet's own protocol. Pure: no I/O.

Messages are parsed by hand and not with the library's classes: one value that a newer agent writes
differently must not cost the rest of the message.
"""

import json
from collections.abc import Iterator
from pathlib import PurePath
from posixpath import normpath
from typing import Any

from codefleet.coders.jsonl import Fields, amount, text
from codefleet.coders.tools import detail
from codefleet.domain.signals import DELETED, MODIFIED

Line = dict[str, Any]

ENOUGH = 1000
"""How many characters to collect before passing on an incomplete message."""
LONGEST = 4000
CHANGES = ("edit", "delete", "move")
ABOUT_FILES = (*CHANGES, "read")
ENDED = ("completed", "failed")


class Reading:
    """Follows one session: joins message chunks, and gives every tool call its name and end."""

    def __init__(self, worktree: PurePath) -> None:
        self._worktree = worktree
        self._words: list[str] = []
        self._said = ""
        self._calls: dict[str, Fields] = {}
        self._begun: set[str] = set()

    def update(self, update: Fields) -> Iterator[Line]:
        """The lines for one `session/update`."""
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(words)}}:
                self._words.append(text(words))
                if sum(map(len, self._words)) >= ENOUGH:
                    yield from self._told()
            case {"sessionUpdate": "tool_call" | "tool_call_update"}:
                yield from self._call(update)
            case {"sessionUpdate": "usage_update"}:
                yield from _context(update)

    def tool(self, call: Fields) -> str:
        """The kind of tool that a call uses: a name that all agents share."""
        return _kind(self._known(call))

    def wants(self, request: str, call: Fields) -> Iterator[Line]:
        """The lines for one permission request."""
        yield from self._message_over()
        call = self._known(call)
        raw = call.get("rawInput")
        given = json.dumps(raw) if isinstance(raw, dict) else "{}"
        yield {
            "type": "wants",
            "request": request,
            "tool": _kind(call),
            "detail": self._about(call),
            "input": given if len(given) <= LONGEST else "{}",
            "paths": list(_named(call)) if _kind(call) in ABOUT_FILES else [],
        }

    def turn_over(self, response: Fields) -> Iterator[Line]:
        """The lines for the response to a prompt: usage, and why the turn ended."""
        yield from self._told()
        yield from _spent(response)
        yield from _end(response.get("stopReason"), self._said)
        self._said = ""

    def _call(self, news: Fields) -> Iterator[Line]:
        """A call begins once it is more than planned: before that, little is known about it."""
        id, call = text(news.get("toolCallId")), self._known(news)
        status, kind = call.get("status"), _kind(call)
        if id not in self._begun and status != "pending":
            self._begun.add(id)
            yield from self._message_over()
            yield {"type": "tool", "name": kind, "detail": self._about(call), "call": id}
        if status in ENDED:
            result = _result(call)[-LONGEST:]
            yield {"type": "tool", "name": kind, "done": True, "call": id, "result": result}
            self._begun.discard(id)
            del self._calls[id]
        if status == "completed" and kind in CHANGES:
            change = DELETED if kind == "delete" else MODIFIED
            for path in self._paths(call):
                yield {"type": "file", "path": path, "change": change}

    def _known(self, news: Fields) -> Fields:
        """All that is known of a call so far: updates contain only what is new."""
        id = text(news.get("toolCallId"))
        fresh = {name: value for name, value in news.items() if value not in (None, [], {})}
        self._calls[id] = {**self._calls.get(id, {}), **fresh}
        return self._calls[id]

    def _about(self, call: Fields) -> str:
        """The command or the file, if given; else the call's title."""
        paths = self._paths(call) if _kind(call) in CHANGES else []
        told = "\n".join(paths) or detail(call.get("rawInput")) or text(call.get("title"))
        return told[:LONGEST]

    def _paths(self, call: Fields) -> list[str]:
        """The files that a call is about, relative to the worktree."""
        return list(dict.fromkeys(map(self._seen, _named(call))))

    def _seen(self, path: str) -> str:
        pure = PurePath(normpath(path))
        inside = pure.is_relative_to(self._worktree)
        return str(pure.relative_to(self._worktree) if inside else pure)

    def _message_over(self) -> Iterator[Line]:
        yield from self._told()
        self._said = ""

    def _told(self) -> Iterator[Line]:
        words = "".join(self._words)
        self._words.clear()
        if words:
            yield {"type": "said", "text": words, "more": bool(self._said)}
            self._said += words


def _kind(call: Fields) -> str:
    return text(call.get("kind")) or "other"


def _result(call: Fields) -> str:
    """The texts that a call came to; a terminal or a diff is shown elsewhere."""
    found = []
    for part in _list(call.get("content")):
        match part:
            case {"type": "content", "content": {"type": "text", "text": str(words)}}:
                found.append(text(words))
    return "\n".join(found)


def _named(call: Fields) -> Iterator[str]:
    """The paths of a call as the agent names them."""
    for place in (*_list(call.get("locations")), *_list(call.get("content"))):
        match place:
            case {"path": str(path)} if path:
                yield text(path)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _context(update: Fields) -> Iterator[Line]:
    """The context used, and the cost of the session so far."""
    if amount(update.get("used")):
        yield {
            "type": "context",
            "used": int(amount(update.get("used"))),
            "size": int(amount(update.get("size"))),
        }
    match update:
        case {"cost": {"currency": "USD", "amount": int() | float() as cost}}:
            yield {"type": "usage", "cost_usd": float(amount(cost)), "in_all": True}


def _spent(response: Fields) -> Iterator[Line]:
    """The tokens of this turn: from the protocol's field, or from Gemini CLI's."""
    match response:
        case {"usage": dict(usage)}:
            fresh = amount(usage.get("inputTokens")) + amount(usage.get("cachedWriteTokens"))
            written = amount(usage.get("outputTokens")) + amount(usage.get("thoughtTokens"))
            yield _usage(fresh, written, amount(usage.get("cachedReadTokens")))
        case {"_meta": {"quota": {"token_count": dict(count)}}}:
            yield _usage(amount(count.get("input_tokens")), amount(count.get("output_tokens")), 0)


def _usage(fresh: float, written: float, cached: float) -> Line:
    return {
        "type": "usage",
        "input_tokens": int(fresh),
        "output_tokens": int(written),
        "cached_tokens": int(cached),
    }


def _end(reason: object, said: str) -> Iterator[Line]:
    match reason:
        case "end_turn":
            yield {"type": "finished", "text": said}
        case "cancelled":
            return  # whoever stopped it knows why
        case "max_tokens":
            yield {"type": "broke", "text": "its context is full", "reason": "context_full"}
        case "max_turn_requests":
            yield {"type": "broke", "text": "it reached the limit of requests per turn"}
        case "refusal":
            yield {"type": "broke", "text": f"the agent refused: {said}".removesuffix(": ")}
        case _:
            yield {"type": "broke", "text": f"the turn ended with {text(reason) or 'no reason'}"}
