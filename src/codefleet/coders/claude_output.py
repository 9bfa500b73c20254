"""What Claude Code prints: one JSON object per line.

A turn's `result` says "success" even if the provider refused: only `is_error` shows it. The kind of
refusal is in the `error` of the assistant message before it. Tokens and money in a `result` are
totals of the whole session, including resumed runs. If it is stopped before, it prints none: then
the tokens in its messages are a lower bound.
"""

import json
from collections.abc import Iterator
from typing import Any

from codefleet.coders import trouble
from codefleet.coders.jsonl import Fields, amount, moment, parsed, text
from codefleet.coders.tools import detail, paths
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    ADDED,
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
    Window,
)
from codefleet.domain.words import Reason

REFUSALS = {
    "authentication_failed": Reason.AUTH,
    "billing_error": Reason.QUOTA,  # nothing works until someone pays
    "model_not_found": Reason.CODER_MISSING,
    "server_error": Reason.CRASHED,
}
BE_PATIENT = ("rate_limit", "overloaded")
ENDS = {
    "prompt_too_long": Reason.CONTEXT_FULL,
    "error_max_turns": Reason.TIMEOUT,
    "error_max_budget_usd": Reason.BUDGET,
}

NO_SESSION = "No conversation found with session ID"


def read(line: str) -> Iterator[Signal]:
    """What one line means."""
    event = parsed(line)
    match event:
        case {"type": "system"}:
            yield from _system(event)
        case {"type": "control_request", "request_id": str(id), "request": dict(request)}:
            yield from _control(text(id), request)
        case {"type": "assistant", "error": str(kind)} if _is_main(event):
            yield _refusal(kind, " ".join(_words(event)))
        case {"type": "assistant"}:
            yield from _assistant(event)
        case {"type": "user"}:
            yield from _results(event)
        case {"type": "rate_limit_event", "rate_limit_info": dict(limit)}:
            yield from _limit(limit)
        case {"type": "result"}:
            if session := text(event.get("session_id")):
                yield Started(session)
            yield from _spent(event)
            yield from _end(event)


def _system(event: Fields) -> Iterator[Signal]:
    match event:
        case {"subtype": "init"}:
            session, model = text(event.get("session_id")), text(event.get("model"))
            yield Started(session or None, model or None)
        case {"subtype": "api_retry", "error_status": 401 | 403}:
            yield from _refused_again(event)
        case {"subtype": "permission_denied", "tool_name": str(tool)}:
            yield Tool(text(tool), f"denied: {text(event.get('message'))}")


def _control(id: str, request: Fields) -> Iterator[Signal]:
    """A tool that needs permission. The tool that asks the user is a question."""
    match request:
        case {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": dict(given)}:
            yield _question(given)
        case {"subtype": "can_use_tool", "tool_name": str(tool), "input": dict(given)}:
            yield Wants(id, text(tool), detail(given), json.dumps(given), paths(given))


def _question(given: Fields) -> Asks:
    """One question keeps its options; several are joined and answered as text."""
    questions = _dicts(given.get("questions"))
    words = _texts([each.get("question") for each in questions])
    options = _dicts(questions[0].get("options")) if len(questions) == 1 else []
    labels = _texts([each.get("label") for each in options])
    return Asks("\n".join(filter(None, words)) or "It has a question.", tuple(filter(None, labels)))


def _assistant(event: Fields) -> Iterator[Signal]:
    """What the agent says and does; text of a sub-agent is left out."""
    is_main = _is_main(event)
    for block in _blocks(event):
        match block:
            case {"type": "text", "text": str(words)} if is_main and words:
                yield Said(text(words))
            case {"type": "thinking", "thinking": str(words)} if is_main and words:
                yield Thought(text(words))
            case {"type": "tool_use", "name": str(name)}:
                yield Tool(text(name), detail(block.get("input")), call=text(block.get("id")))
    if is_main:
        yield from _filled(event)
    yield from _taken(event)


def _is_main(event: Fields) -> bool:
    return event.get("parent_tool_use_id") is None


def _results(event: Fields) -> Iterator[Signal]:
    """The end of tool calls. A result does not name its tool."""
    for block in _blocks(event):
        if block.get("type") == "tool_result":
            call = text(block.get("tool_use_id"))
            yield Tool("", done=True, call=call, result=_result(block.get("content")))
    match event:
        case {"tool_use_result": {"filePath": str(path), **more}} if path:
            yield Changed(text(path), ADDED if more.get("type") == "create" else MODIFIED)


def _result(content: object) -> str:
    """What came out of a tool: a text, or blocks that contain texts."""
    return text(content) or "\n".join(_texts([each.get("text") for each in _dicts(content)]))


def _refusal(kind: str, words: str) -> Signal:
    if kind in BE_PATIENT:
        return trouble.limited(words)
    return Broke(words, REFUSALS.get(kind, Reason.UNKNOWN))


def _refused_again(retry: Fields) -> Iterator[Signal]:
    """It would retry a wrong key ten times, for minutes: the second refusal is enough."""
    if amount(retry.get("attempt")) >= 2:
        said = f"the provider refused the key ({retry['error_status']})"
        yield Broke(said, Reason.AUTH, retrying=True)


def _limit(limit: Fields) -> Iterator[Signal]:
    goes_on = limit.get("isUsingOverage") is True  # and each answer costs extra
    if limit.get("status") == "rejected" and not goes_on:
        yield Limited(
            f"the {text(limit.get('rateLimitType')) or 'usage'} limit is reached",
            moment(limit.get("resetsAt")),
            quota=True,
        )


def _spent(event: Fields) -> Iterator[Signal]:
    """The session's totals, including sub-agents. A turn that failed at once reports none."""
    by_model = event.get("modelUsage")
    if not isinstance(by_model, dict) or not by_model:
        return
    models = [used for used in by_model.values() if isinstance(used, dict)]
    usage = Usage(
        input_tokens=_sum(models, "inputTokens") + _sum(models, "cacheCreationInputTokens"),
        output_tokens=_sum(models, "outputTokens"),
        cached_tokens=_sum(models, "cacheReadInputTokens"),
        cost_usd=float(amount(event.get("total_cost_usd"))),
    )
    yield Used(usage, in_all=True)
    for name, used in by_model.items():
        if isinstance(used, dict) and (size := int(amount(used.get("contextWindow")))):
            yield Window(text(name), size)


def _taken(event: Fields) -> Iterator[Signal]:
    """A lower bound for one message; several lines may report the same message."""
    match event:
        case {"message": {"id": str(id), "usage": dict(told), **message}} if id:
            fresh = ("input_tokens", "cache_creation_input_tokens")
            usage = Usage(
                input_tokens=sum(int(amount(told.get(name))) for name in fresh),
                output_tokens=int(amount(told.get("output_tokens"))),
                cached_tokens=int(amount(told.get("cache_read_input_tokens"))),
            )
            if usage != Usage():
                yield Used(usage, model=text(message.get("model")) or None, message=text(id))


def _end(event: Fields) -> Iterator[Signal]:
    words = text(event.get("result")) or " ".join(_texts(event.get("errors")))
    match event:
        case {"subtype": "success", "is_error": False}:
            yield Finished(words)
        case {"terminal_reason": "aborted_tools" | "aborted_streaming"}:
            return  # whoever interrupted it knows why
        case {"terminal_reason": "prompt_too_long" as end} | {"subtype": str(end)} if end in ENDS:
            yield Broke(words, ENDS[end])
        case {"errors": [str(first), *_]} if first.startswith(NO_SESSION):
            yield Broke(words, Reason.SESSION_LOST)
        case {"api_error_status": int(status)}:
            yield trouble.of_status(status, words)
        case _:
            yield Broke(words)


def _filled(event: Fields) -> Iterator[Signal]:
    match event:
        case {"message": {"usage": dict(usage)}}:
            names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            if used := sum(int(amount(usage.get(name))) for name in names):
                yield Filled(used)


def _blocks(event: Fields) -> Iterator[Fields]:
    match event:
        case {"message": {"content": list(blocks)}}:
            yield from _dicts(blocks)


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _words(event: Fields) -> Iterator[str]:
    return (text(block.get("text")) for block in _blocks(event))


def _texts(value: object) -> list[str]:
    return [text(item) for item in value if item] if isinstance(value, list) else []


def _sum(models: list[dict[str, Any]], name: str) -> int:
    return sum(int(amount(used.get(name))) for used in models)
