"""Codex: `codex exec --json`, which prints one JSON object per line.

Its exit code is 1 for every failure, and only the message of `turn.failed` says which. Tokens are
totals of the whole thread, including resumed runs; costs are not reported.
"""

import json
import re
from collections.abc import Iterator

from codefleet.coder import Abilities, Answers, Assignment, Probe, Start
from codefleet.coders import mcp_config, trouble
from codefleet.coders.jsonl import Fields, amount, parsed, text
from codefleet.coders.options import Options, flag
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    ADDED,
    DELETED,
    MODIFIED,
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
)
from codefleet.domain.words import Reason

KINDS = {"add": ADDED, "delete": DELETED}
STATUS = re.compile(r"(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b")
HIGH_DEMAND = re.compile(r"We.re currently experiencing high demand")  # its message for status 500
USAGE_LIMIT = re.compile(r"You.ve hit your usage limit\b")
MESSAGES = (
    (re.compile(r"Quota exceeded\."), Reason.QUOTA),
    (re.compile(r"Your workspace is out of credits\."), Reason.QUOTA),
    (re.compile(r"You hit your spend cap\b"), Reason.QUOTA),
    (re.compile(r"To use Codex with your ChatGPT plan, upgrade\b"), Reason.QUOTA),
    (re.compile(r"Missing environment variable: "), Reason.AUTH),
    (re.compile(r"Codex ran out of room in the model.s context window"), Reason.CONTEXT_FULL),
    (re.compile(r"stream disconnected before completion: "), Reason.CRASHED),
    (re.compile(r"Connection failed: "), Reason.CRASHED),
    (re.compile(r"The model `[^`]+` does not exist"), Reason.CODER_MISSING),
)
NO_SESSION = re.compile(r"^Error: thread/resume\b.*", re.MULTILINE)
OWN_PROVIDER = re.compile(r"^\s*model_provider\s*=", re.MULTILINE)
CODES = {
    "context_length_exceeded": Reason.CONTEXT_FULL,
    "insufficient_quota": Reason.QUOTA,
    "model_not_found": Reason.CODER_MISSING,
}

KEY = "CODEX_API_KEY"
"""`codex exec` reads it, but not OPENAI_API_KEY; `codex login status` ignores it."""


def _logged_in(answers: Answers) -> bool | None:
    if answers.exit_code == 0 or answers.env.get(KEY):
        return True
    if OWN_PROVIDER.search(answers.files.get("config.toml", "")):
        return None  # it has a key of its own, which Codex does not report
    return False if "Not logged in" in answers.said else None


class Codex:
    """Starts and reads Codex."""

    name = "codex"
    program = "codex"
    abilities = Abilities(
        verified=True,
        resume=True,
        resume_after_crash=True,
        reports_tokens=True,
        says_when_done=True,
        memory_mb=150,
        http_tools=True,
        keys=(KEY,),
    )
    probe = Probe(
        install="npm install -g @openai/codex",
        help=("exec", "--help"),
        login=("login", "status"),
        folder=("CODEX_HOME", "~/.codex"),
        files=("config.toml",),
        logged_in=_logged_in,
        log_in="run `codex login`, or let agents see your key: "
        "`fleet config set environment CODEX_API_KEY`",
    )

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options, "sandbox", "effort")
        effort = options.maybe("effort")
        modes = ("workspace-write", "read-only", "danger-full-access")
        session = ("resume", "--", assignment.resume) if assignment.resume else ("--",)
        return Start(
            argv=[
                options.text("program", self.program),
                *("exec", "--json", "--skip-git-repo-check"),
                *flag("sandbox", options.choice("sandbox", *modes)),
                *_servers(assignment),
                *flag("model", assignment.run.model),
                *flag("config", effort and f"model_reasoning_effort={json.dumps(effort)}"),
                *options.texts("args"),
                *session,
                "-",  # read the prompt from standard input
            ],
            env=options.env("CODEX_HOME", **mcp_config.token_variable(assignment.endpoint)),
            stdin=assignment.prompt,
            stop_signal="SIGINT",
        )

    def read(self, line: str) -> Iterator[Signal]:
        match parsed(line):
            case {"type": "thread.started", "thread_id": str(thread)}:
                yield Started(text(thread) or None)
            case {"type": "item.started" | "item.completed" as kind, "item": dict(item)}:
                yield from _item(item, done=kind == "item.completed")
            case {"type": "turn.completed", **rest}:
                yield from _spent(rest)
                yield Finished()
            case {"type": "token_count", "info": dict(info)}:
                yield from _filled(info)
            case {"type": "turn.failed", "error": {"message": str(message)}}:
                yield _failure(text(message))
            case {"type": "turn.failed"}:
                yield Broke("the turn failed")

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        if NO_SESSION.search(stderr):
            yield Broke(trouble.last_words(stderr), Reason.SESSION_LOST)
        else:
            yield from trouble.of_the_call(stderr)


coder = Codex()


def _servers(assignment: Assignment) -> list[str]:
    """The run's own MCP server, next to the user's."""
    if assignment.endpoint:
        where: dict[str, object] = {
            "url": assignment.endpoint.url,
            "bearer_token_env_var": mcp_config.TOKEN,
        }
    elif assignment.tools:
        where = {"command": assignment.tools[0], "args": list(assignment.tools[1:])}
    else:
        return []
    server = {
        **where,
        "startup_timeout_sec": mcp_config.STARTS_WITHIN_S,
        "tool_timeout_sec": mcp_config.ANSWERS_WITHIN_S,
        "default_tools_approval_mode": "approve",  # otherwise it refuses them, with nobody to ask
        "required": True,  # else its first request may precede the tools
    }
    return [
        f"--config=mcp_servers.{mcp_config.NAME}.{key}={json.dumps(value)}"
        for key, value in server.items()
    ]


def _item(item: Fields, *, done: bool) -> Iterator[Signal]:
    match item:
        case {"type": "agent_message", "text": str(words)} if done and words:
            yield Said(text(words))
        case {"type": "reasoning", "text": str(words)} if done and words:
            yield Thought(text(words))
        case {"type": "command_execution", "command": str(command)}:
            printed = text(item.get("aggregated_output")) if done else ""
            yield Tool("shell", text(command), done, text(item.get("id")), printed)
        case {"type": "mcp_tool_call", "server": str(server), "tool": str(tool)}:
            yield Tool(f"{text(server)}.{text(tool)}", done=done)
        case {"type": "web_search", "query": str(query)}:
            yield Tool("web_search", text(query), done)
        case {"type": "file_change", "status": "completed", "changes": list(changes)}:
            yield from (
                Changed(text(change["path"]), KINDS.get(text(change.get("kind")), MODIFIED))
                for change in changes
                if isinstance(change, dict) and text(change.get("path"))
            )


def _spent(event: Fields) -> Iterator[Signal]:
    match event:
        case {"usage": dict(usage)}:
            cached = int(amount(usage.get("cached_input_tokens")))
            fresh = int(amount(usage.get("input_tokens"))) - cached
            used = Usage(
                input_tokens=max(0, fresh),
                output_tokens=int(amount(usage.get("output_tokens"))),
                cached_tokens=cached,
            )
            yield Used(used, in_all=True)


def _filled(info: Fields) -> Iterator[Signal]:
    """The context used; only some versions print it."""
    match info:
        case {"last_token_usage": dict(last)}:
            used = int(amount(last.get("total_tokens")))
            if used:
                yield Filled(used, int(amount(info.get("model_context_window"))))


def _failure(message: str) -> Signal:
    """What the message of a failed turn means; it is Codex's own, never the agent's text."""
    if USAGE_LIMIT.match(message):
        return Limited(message, quota=True)  # the runner, which has a clock, parses the time
    if HIGH_DEMAND.match(message):
        return trouble.of_status(500, message)
    if found := STATUS.match(message):
        return trouble.of_status(int(found[1]), message)
    for pattern, reason in MESSAGES:
        if pattern.match(message):
            return Broke(message, reason)
    match parsed(message):
        case {"error": {"code": str(code), "message": str(words)}}:
            return Broke(text(words), CODES.get(code, Reason.UNKNOWN))
    return Broke(message)
