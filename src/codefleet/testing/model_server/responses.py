"""The OpenAI Responses API."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from codefleet.testing.model_server.dialect import (
    Answer,
    Call,
    Frame,
    Json,
    Usage,
    new_id,
    texts,
    words,
)
from codefleet.testing.model_server.openai import OpenAI
from codefleet.testing.model_server.script import Message


class Responses(OpenAI):
    def speaks(self, path: str) -> bool:
        return path.endswith("/responses")

    def conversation(self, body: Json) -> list[Message]:
        given = body["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return [_message(item) for item in items]

    def tools(self, body: Json) -> Mapping[str, Json]:
        return {
            tool["name"]: (tool.get("parameters") or {}).get("properties", {})
            for tool in _flat(_offered(body))
            if "name" in tool
        }

    def whole(self, body: Json, answer: Answer) -> Json:
        return {
            **_response(body),
            "status": "completed",
            "output": _items(answer),
            "usage": _usage(answer.usage),
        }

    def stream(self, body: Json, answer: Answer) -> Iterator[Frame]:
        done = self.whole(body, answer)
        begun = {**done, "status": "in_progress", "output": [], "usage": None}
        yield _frame("response.created", response=begun)
        for index, item in enumerate(done["output"]):
            blank = {**item, "status": "in_progress", **_blank(item)}
            yield _frame("response.output_item.added", output_index=index, item=blank)
            yield from _deltas(index, item)
            yield _frame("response.output_item.done", output_index=index, item=item)
        yield _frame("response.completed", response=done)


def _message(item: Json) -> Message:
    """An item as a message: what the model said or called is by it, results of tools are not."""
    kind = item.get("type", "message")
    if kind == "message":
        by_model = item["role"] == "assistant"
        return Message(by_model, texts(item["content"]) if item["role"] != "developer" else ())
    return Message(not kind.endswith("_output") and kind != "additional_tools")


def _offered(body: Json) -> Iterator[Json]:
    """Tools come with the request or, for the newest models, as an item of the conversation."""
    yield from body.get("tools") or ()
    for item in body["input"] if isinstance(body["input"], list) else ():
        if item.get("type") == "additional_tools":
            yield from item.get("tools") or ()


def _flat(tools: Iterator[Json]) -> Iterator[Json]:
    for tool in tools:
        yield from tool["tools"] if tool.get("type") == "namespace" else [tool]


def _response(body: Json) -> Json:
    return {
        "id": new_id("resp"),
        "object": "response",
        "created_at": 0,
        "model": body.get("model"),
        "error": None,
    }


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }


def _items(answer: Answer) -> list[Json]:
    part = {"type": "output_text", "text": answer.text, "annotations": []}
    said = {"type": "message", "id": new_id("msg"), "role": "assistant", "content": [part]}
    called = [_called(call) for call in answer.calls]
    items: list[Json] = [*([said] if answer.text else []), *called]
    return [{**item, "status": "completed"} for item in items]


def _called(call: Call) -> Json:
    if isinstance(call.input, str):
        kind: Json = {"type": "custom_tool_call", "input": call.input}
    else:
        kind = {"type": "function_call", "arguments": json.dumps(call.input)}
    # A script names a tool of an MCP server as "mcp__server/tool".
    space, _, name = call.name.rpartition("/")
    named = {"namespace": space, "name": name} if space else {"name": name}
    return {**kind, **named, "id": new_id("item"), "call_id": call.id}


def _blank(item: Json) -> Json:
    """What an item has not said yet when it is announced."""
    empty: Mapping[str, Any] = {"content": [], "arguments": "", "input": ""}
    return {key: value for key, value in empty.items() if key in item}


def _deltas(index: int, item: Json) -> Iterator[Frame]:
    at = {"item_id": item["id"], "output_index": index}
    match item:
        case {"content": [part]}:
            here = {**at, "content_index": 0}
            yield _frame("response.content_part.added", **here, part={**part, "text": ""})
            for piece in words(part["text"]):
                yield _frame("response.output_text.delta", **here, delta=piece)
            yield _frame("response.output_text.done", **here, text=part["text"])
            yield _frame("response.content_part.done", **here, part=part)
        case {"arguments": given}:
            yield _frame("response.function_call_arguments.delta", **at, delta=given)
            yield _frame("response.function_call_arguments.done", **at, arguments=given)


def _frame(kind: str, **fields: Any) -> Frame:
    return Frame({"type": kind, **fields}, kind)
