"""The Gemini API."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from codefleet.testing.model_server.dialect import Answer, Frame, Json, Usage, new_id, texts, words
from codefleet.testing.model_server.script import Message, Refusal

KINDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
STOPS = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
DETAIL = "type.googleapis.com/google.rpc"


class Gemini:
    def speaks(self, path: str) -> bool:
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def streams(self, path: str, body: Json) -> bool:
        return path.endswith(":streamGenerateContent")

    def conversation(self, body: Json) -> list[Message]:
        return [
            Message(content.get("role") == "model", texts(content["parts"]))
            for content in body["contents"]
        ]

    def tools(self, body: Json) -> Mapping[str, Json]:
        return {
            function["name"]: _schema(function).get("properties", {})
            for tool in body.get("tools") or ()
            for function in tool.get("functionDeclarations", ())
        }

    def whole(self, body: Json, answer: Answer) -> Json:
        parts = [*([{"text": answer.text}] if answer.text else []), *_calls(answer)]
        return _chunk(_form(body) or parts, _stop(answer), answer.usage)

    def stream(self, body: Json, answer: Answer) -> Iterator[Frame]:
        for piece in words(answer.text):
            yield Frame(_chunk([{"text": piece}]))
        yield Frame(_chunk(_calls(answer) or [{"text": ""}], _stop(answer), answer.usage))

    def refuse(self, refusal: Refusal) -> Json:
        kind = refusal.type or KINDS.get(refusal.status, "INTERNAL")
        return {"error": {"code": refusal.status, "message": refusal.message, "status": kind}}

    def used_up(self, until: float, seconds: float) -> Refusal:
        per_day = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaValue": "50"}
        told = {
            **self.refuse(Refusal(429, "You exceeded your current quota"))["error"],
            "details": [
                {"@type": f"{DETAIL}.QuotaFailure", "violations": [per_day]},
                {"@type": f"{DETAIL}.RetryInfo", "retryDelay": f"{int(seconds)}s"},
            ],
        }
        return Refusal(429, body={"error": told})


def _schema(function: Json) -> Json:
    found = function.get("parametersJsonSchema") or function.get("parameters")
    return found if isinstance(found, dict) else {}


def _chunk(parts: list[Json], stop: str | None = None, usage: Usage | None = None) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if stop:
        candidate["finishReason"] = stop
    return {"candidates": [candidate], **({"usageMetadata": _usage(usage)} if usage else {})}


def _usage(usage: Usage) -> Json:
    return {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.output,
    }


def _stop(answer: Answer) -> str:
    return STOPS.get(answer.stop or "", "STOP")


def _calls(answer: Answer) -> list[Json]:
    return [
        {"functionCall": {"id": new_id("fc"), "name": call.name, "args": call.input}}
        for call in answer.calls
    ]


def _form(body: Json) -> list[Json]:
    """The program asks itself small questions on the side and wants JSON of a given shape."""
    wanted = body.get("generationConfig") or {}
    if wanted.get("responseMimeType") != "application/json":
        return []
    schema = wanted.get("responseJsonSchema") or wanted.get("responseSchema") or {}
    return [{"text": json.dumps(_smallest(schema))}]


def _smallest(schema: Json) -> Any:
    """The smallest value that fits a JSON schema."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        inner: Json = schema.get("properties", {})
        return {name: _smallest(inner.get(name, {})) for name in schema.get("required", inner)}
    number = schema.get("minimum", 0)
    return {"array": [], "boolean": False, "number": number, "integer": number}.get(kind, "")
