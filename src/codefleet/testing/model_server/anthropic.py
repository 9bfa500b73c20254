"""The Anthropic Messages API."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from codefleet.testing.model_server.dialect import Answer, Frame, Json, Usage, new_id, texts, words
from codefleet.testing.model_server.script import Message, Refusal

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
LIMIT = "anthropic-ratelimit-unified"


class Anthropic:
    def speaks(self, path: str) -> bool:
        return path.endswith("/messages")

    def streams(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def conversation(self, body: Json) -> list[Message]:
        return [
            Message(message["role"] == "assistant", texts(message["content"]))
            for message in body["messages"]
            if message["role"] in ("user", "assistant")
        ]

    def tools(self, body: Json) -> Mapping[str, Json]:
        return {
            tool["name"]: tool.get("input_schema", {}).get("properties", {})
            for tool in body.get("tools") or ()
        }

    def whole(self, body: Json, answer: Answer) -> Json:
        return {
            **_message(body, answer.usage),
            "content": _blocks(answer),
            "stop_reason": _stop(answer),
        }

    def stream(self, body: Json, answer: Answer) -> Iterator[Frame]:
        # At its beginning an answer has counted one token of output; the sum comes at its end.
        message = _message(body, answer.usage._replace(output=1))
        yield _frame("message_start", message=message)
        for index, block in enumerate(_blocks(answer)):
            yield _frame("content_block_start", index=index, content_block=_empty(block))
            for delta in _deltas(block):
                yield _frame("content_block_delta", index=index, delta=delta)
            yield _frame("content_block_stop", index=index)
        delta = {"stop_reason": _stop(answer), "stop_sequence": None}
        yield _frame("message_delta", delta=delta, usage=_usage(answer.usage))
        yield _frame("message_stop")

    def refuse(self, refusal: Refusal) -> Json:
        kind = refusal.type or KINDS.get(refusal.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": refusal.message}}

    def used_up(self, until: float, seconds: float) -> Refusal:
        reset = str(int(until))
        headers = {
            f"{LIMIT}-status": "rejected",
            f"{LIMIT}-reset": reset,
            f"{LIMIT}-representative-claim": "five_hour",
            f"{LIMIT}-5h-status": "rejected",
            f"{LIMIT}-5h-reset": reset,
            f"{LIMIT}-5h-utilization": "1.0",
            # The program would wait for a short time by itself; a used-up subscription says hours.
            "retry-after": str(max(3600, int(seconds))),
        }
        return Refusal(429, "This would exceed your account's rate limit.", headers=headers)


def _frame(kind: str, **fields: Any) -> Frame:
    return Frame({"type": kind, **fields}, kind)


def _message(body: Json, usage: Usage) -> Json:
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(usage),
    }


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }


def _stop(answer: Answer) -> str:
    return "tool_use" if answer.calls else answer.stop or "end_turn"


def _blocks(answer: Answer) -> list[Json]:
    thought = {"type": "thinking", "thinking": answer.think, "signature": "c2lnbmVk"}
    said = {"type": "text", "text": answer.text}
    called = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
        for call in answer.calls
    ]
    return [*([thought] if answer.think else []), *([said] if answer.text else []), *called]


def _empty(block: Json) -> Json:
    """A block as it is announced, before its pieces fill it."""
    blank: Mapping[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: blank.get(key, value) for key, value in block.items()}


def _deltas(block: Json) -> Iterator[Json]:
    match block:
        case {"type": "text", "text": text}:
            for piece in words(text):
                yield {"type": "text_delta", "text": piece}
        case {"type": "thinking", "thinking": thought, "signature": signature}:
            yield {"type": "thinking_delta", "thinking": thought}
            yield {"type": "signature_delta", "signature": signature}
        case {"input": given}:
            yield {"type": "input_json_delta", "partial_json": json.dumps(given)}
