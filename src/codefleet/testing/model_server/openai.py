"""What the two APIs of OpenAI have in common: how they refuse."""

from codefleet.testing.model_server.dialect import Json
from codefleet.testing.model_server.script import Refusal

KINDS = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}


class OpenAI:
    def streams(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def refuse(self, refusal: Refusal) -> Json:
        kind = refusal.type or KINDS.get(refusal.status, "server_error")
        return {"error": {"message": refusal.message, "type": kind, "code": kind, "param": None}}

    def used_up(self, until: float, seconds: float) -> Refusal:
        told = {
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "pro",
            "resets_at": int(until),
            "resets_in_seconds": int(seconds),
        }
        return Refusal(429, headers={"retry-after": str(int(seconds))}, body={"error": told})
