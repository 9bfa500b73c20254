"""opencode: `opencode run --format=json`, which prints one JSON object per line.

Tokens and money come step by step and add up. No line ends the session: a step that stops without
calling a tool is its last.
"""

import json
import re
from collections.abc import Iterator

from codefleet.coder import Abilities, Answers, Assignment, Probe, Start
from codefleet.coders import mcp_config, trouble
from codefleet.coders.jsonl import Fields, amount, parsed, text
from codefleet.coders.options import PROVIDER_KEYS, Options, flag
from codefleet.coders.tools import detail
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Broke,
    Changed,
    Filled,
    Finished,
    Said,
    Signal,
    Started,
    Tool,
    Used,
)
from codefleet.domain.words import Reason

NAMES = {
    "ProviderAuthError": Reason.AUTH,
    "ProviderModelNotFoundError": Reason.CODER_MISSING,
    "ContextOverflowError": Reason.CONTEXT_FULL,
}
CODES = {
    "context_length_exceeded": Reason.CONTEXT_FULL,
    "insufficient_quota": Reason.QUOTA,
}
WRITERS = ("write", "edit", "patch", "multiedit")
CUT_SHORT = {"length": "its answer was too long", "content-filter": "the provider refused"}


IN_THE_LOG = "Check server logs for details"
LOGGED = re.compile(r'^timestamp=\S+ level=ERROR .*?\berror="(\w+): ([^"]{1,500})', re.MULTILINE)
CREDENTIALS = re.compile(r"\b(\d+) (?:credential|environment variable)")


def _logged_in(answers: Answers) -> bool | None:
    """It also works without credentials, with local models."""
    return True if any(int(count) for count in CREDENTIALS.findall(answers.said)) else None


class Opencode:
    """Starts and reads opencode."""

    name = "opencode"
    program = "opencode"
    abilities = Abilities(
        verified=True,
        resume=True,
        resume_after_crash=True,
        reports_cost=True,
        reports_tokens=True,
        says_when_done=True,
        reports_context=True,
        memory_mb=600,
        http_tools=True,
        keys=PROVIDER_KEYS,
    )

    probe = Probe(
        install="npm install -g opencode-ai",
        help=("run", "--help"),
        login=("auth", "list"),
        logged_in=_logged_in,
        log_in="run `opencode auth login`",
    )

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options)
        return Start(
            argv=[
                options.text("program", self.program),
                *("run", "--format=json"),
                *("--print-logs", "--log-level=ERROR"),  # some failures are reported only there
                "--auto",  # otherwise it refuses whatever its settings want asked
                *flag("model", assignment.run.model),
                *flag("session", assignment.resume),
                *options.texts("args"),
            ],
            env=options.env(
                "XDG_DATA_HOME", OPENCODE_DISABLE_AUTOUPDATE="1", **_servers(assignment)
            ),
            stdin=assignment.prompt,
        )

    def read(self, line: str) -> Iterator[Signal]:
        event = parsed(line)
        match event:
            case {"type": "step_start" | "error", "sessionID": str(session)} if session:
                yield Started(text(session))
        match event:
            case {"type": "text", "part": {"text": str(words)}} if words:
                yield Said(text(words))
            case {"type": "tool_use", "part": {"tool": str(tool), "state": dict(state)}}:
                yield from _tool(text(tool), state, text(event["part"].get("callID")))
            case {"type": "step_finish", "part": dict(part)}:
                yield from _spent(part)
                yield from _end(part)
            case {"type": "error", "error": dict(error)}:
                yield from _error(error)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        if "Session not found" in stderr:
            yield Broke("Session not found", Reason.SESSION_LOST)
        elif found := LOGGED.search(stderr):
            yield Broke(text(found[2]), NAMES.get(found[1], Reason.UNKNOWN))
        else:
            yield from trouble.of_the_call(stderr)


coder = Opencode()


def _servers(assignment: Assignment) -> dict[str, str]:
    """The run's own MCP server, merged into the user's settings."""
    if assignment.endpoint:
        url, headers = assignment.endpoint.url, mcp_config.headers(assignment.endpoint)
        where: dict[str, object] = {"type": "remote", "url": url, "headers": headers}
        where["oauth"] = False  # otherwise it looks for a place to log in
    elif assignment.tools:
        where = {"type": "local", "command": list(assignment.tools)}
    else:
        return {}
    server = {**where, "enabled": True, "timeout": mcp_config.ANSWERS_WITHIN_S * 1000}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps({"mcp": {mcp_config.NAME: server}})}


def _tool(name: str, state: Fields, call: str) -> Iterator[Signal]:
    """A tool call that is over: opencode does not report it earlier."""
    said = detail(state.get("input"))
    refused = text(state.get("error")) if state.get("status") == "error" else ""
    yield Tool(name, f"{said}: {refused}" if refused else said, call=call)
    yield Tool(name, done=True, call=call, result=text(state.get("output")))
    match state:
        case {"status": "completed", "input": {"filePath": str(path)}}:
            if name in WRITERS and path:
                yield Changed(text(path))


def _spent(part: Fields) -> Iterator[Signal]:
    match part:
        case {"tokens": dict(tokens)}:
            cache = tokens.get("cache")
            read, written = (
                int(amount(cache.get(name))) if isinstance(cache, dict) else 0
                for name in ("read", "write")
            )
            usage = Usage(
                input_tokens=int(amount(tokens.get("input"))) + written,
                output_tokens=int(amount(tokens.get("output")) + amount(tokens.get("reasoning"))),
                cached_tokens=read,
                cost_usd=float(amount(part.get("cost"))),
            )
            yield Used(usage)
            yield Filled(usage.tokens + read)


def _end(part: Fields) -> Iterator[Signal]:
    match part.get("reason"):
        case "stop":
            yield Finished()
        case str(reason) if reason in CUT_SHORT:
            yield Broke(CUT_SHORT[reason])


def _error(error: Fields) -> Iterator[Signal]:
    match error:
        case {"name": "MessageAbortedError"}:
            return  # whoever interrupted it knows why
        case {"name": "UnknownError", "data": {"message": str(words)}} if IN_THE_LOG in words:
            return
        case {"name": str(name), "data": dict(data)}:
            words = text(data.get("message")) or text(name)
            reason = NAMES.get(name) or CODES.get(_code(data))
            yield Broke(words, reason) if reason else _api_error(data, words)
        case _:
            yield Broke("the session failed")


def _api_error(data: Fields, words: str) -> Signal:
    status = data.get("statusCode")
    if isinstance(status, int):
        return trouble.of_status(status, words)
    return Broke(words, Reason.CRASHED if data.get("isRetryable") is True else Reason.UNKNOWN)


def _code(data: Fields) -> str:
    """The provider's own error code, from its response."""
    match parsed(text(data.get("responseBody"))):
        case {"error": {"code": str(code)}}:
            return code
    return ""
