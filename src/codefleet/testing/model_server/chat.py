"""The OpenAI Chat Completions API, which most other providers speak too."""

import json
from collections.abc import Iterator, Mapping

from codefleet.testing.model_server.dialect import Answer, Frame, Json, Usage, new_id, texts, words
from codefleet.testing.model_server.openai import OpenAI
from codefleet.testing.model_server.script import Message

STOPS = {"max_tokens": "length", "refusal": "content_filter"}


class Chat(OpenAI):
    def speaks(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def conversation(self, body: Json) -> list[Message]:
        return [
            Message(
                message["role"] == "assistant",
                texts(message.get("content")) if message["role"] != "tool" else (),
            )
            for message in body["messages"]
            if message["role"] in ("user", "assistant", "tool")
        ]

    def tools(self, body: Json) -> Mapping[str, Json]:
        return {
            tool["function"]["name"]: tool["function"].get("parameters", {}).get("properties", {})
            for tool in body.get("tools") or ()
        }

    def whole(self, body: Json, answer: Answer) -> Json:
        message: Json = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = _calls(answer)
        choice = {"index": 0, "message": message, "finish_reason": _stop(answer)}
        completion = _completion(body, "chat.completion")
        return {**completion, "choices": [choice], "usage": _usage(answer.usage)}

    def stream(self, body: Json, answer: Answer) -> Iterator[Frame]:
        chunk = _completion(body, "chat.completion.chunk")

        def frame(delta: Json, stop: str | None = None) -> Frame:
            choice = {"index": 0, "delta": delta, "finish_reason": stop}
            return Frame({**chunk, "choices": [choice]})

        yield frame({"role": "assistant", "content": ""})
        for piece in words(answer.text):
            yield frame({"content": piece})
        if answer.calls:
            yield frame({"tool_calls": _calls(answer)})
        yield frame({}, _stop(answer))
        yield Frame({**chunk, "choices": [], "usage": _usage(answer.usage)})
        yield Frame("[DONE]")


def _completion(body: Json, kind: str) -> Json:
    return {"id": new_id("chatcmpl"), "object": kind, "created": 0, "model": body.get("model")}


def _stop(answer: Answer) -> str:
    return "tool_calls" if answer.calls else STOPS.get(answer.stop or "", "stop")


def _calls(answer: Answer) -> list[Json]:
    return [
        {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.input)},
        }
        for index, call in enumerate(answer.calls)
    ]


def _usage(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.input,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    }
