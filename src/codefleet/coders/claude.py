"""Claude Code: `claude -p`, which takes and prints one JSON object per line.

Its input stays open: messages that come while it works are read before its next request to the
model, and it asks for what it may not do by itself. It ends when its input and its turn have ended.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from codefleet.coder import Abilities, Answers, Assignment, Probe, Start
from codefleet.coders import claude_output, mcp_config, trouble
from codefleet.coders.jsonl import first_object
from codefleet.coders.options import Options, flag
from codefleet.domain.permissions import is_meant
from codefleet.domain.signals import Broke, Signal, Wants
from codefleet.domain.words import Reason

ALLOWED = ("Bash", "WebFetch", "WebSearch")
"""Besides edits in the worktree. With these it needs no bypass, which it refuses to root."""
EDITS = ("Edit", "Write", "NotebookEdit")


def _logged_in(answers: Answers) -> bool | None:
    known = first_object(answers.said).get("loggedIn")
    return known if isinstance(known, bool) else None


class Claude:
    """Starts and reads Claude Code."""

    name = "claude"
    program = "claude"
    abilities = Abilities(
        verified=True,
        resume=True,
        resume_after_crash=True,
        reports_cost=True,
        reports_tokens=True,
        says_when_done=True,
        reports_context=True,
        talks=True,
        http_tools=True,
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        gateways=("ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
    )
    probe = Probe(
        install="npm install -g @anthropic-ai/claude-code",
        hidden=("--permission-prompt-tool",),
        login=("auth", "status"),
        logged_in=_logged_in,
        log_in="run `claude auth login`, or let agents see your key: "
        "`fleet config set environment ANTHROPIC_API_KEY`",
    )

    def start(self, assignment: Assignment) -> Start:
        own = ("permission_mode", "allowed_tools", "effort")
        options = Options(self.name, assignment.options, *own)
        judged = assignment.judged
        return Start(
            argv=[
                options.text("program", self.program),
                *("-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"),
                "--permission-prompt-tool=stdio",
                *flag("permission-mode", options.text("permission_mode", _mode(judged))),
                *flag("allowedTools", ",".join(options.texts("allowed_tools", _free(assignment)))),
                *flag("mcp-config", _servers(assignment)),
                *flag("model", assignment.run.model),
                *flag("effort", options.maybe("effort")),
                *flag("resume", assignment.resume),
                *options.texts("args"),
            ],
            env=options.env(
                "CLAUDE_CONFIG_DIR",
                DISABLE_AUTOUPDATER="1",
                CLAUDE_CODE_DISABLE_BACKGROUND_TASKS="1",  # it does not end while one runs
            ),
            stdin=_user(assignment.prompt),
            stop_signal="SIGINT",
            listens=True,
            files=_files(assignment),
        )

    def say(self, id: str, text: str) -> str:
        return _user(text, uuid=str(uuid5(NAMESPACE_URL, f"codefleet:{id}")))

    def permit(self, wants: Wants, *, allowed: bool, why: str = "") -> str:
        decision: dict[str, Any] = {"behavior": "deny", "message": why or "This is not allowed."}
        if allowed:
            decision = {"behavior": "allow", "updatedInput": json.loads(wants.input)}
        response = {"subtype": "success", "request_id": wants.request, "response": decision}
        return json.dumps({"type": "control_response", "response": response})

    def read(self, line: str) -> Iterator[Signal]:
        return claude_output.read(line)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        if "cannot be used with root/sudo privileges" in stderr:
            yield Broke(trouble.last_words(stderr), Reason.CODER_MISSING)
        else:
            yield from trouble.of_the_call(stderr)


coder = Claude()


def _servers(assignment: Assignment) -> str:
    """The run's own MCP server: as JSON or, if it contains the token, as a file."""
    if assignment.endpoint:
        return str(assignment.prompt_file.with_name(mcp_config.FILE))
    return mcp_config.as_json(assignment.tools)


def _files(assignment: Assignment) -> dict[str, str]:
    if not assignment.endpoint:
        return {}
    return {mcp_config.FILE: mcp_config.over_http(assignment.endpoint)}


def _mode(judged: Sequence[str]) -> str:
    """It edits without asking, unless the policy has rules about that."""
    return "acceptEdits" if len(_not_judged(EDITS, judged)) == len(EDITS) else "default"


def _free(assignment: Assignment) -> Sequence[str]:
    """What it may use without asking."""
    has_own = assignment.tools or assignment.endpoint
    own = (f"mcp__{mcp_config.NAME}",) if has_own else ()
    return [*_not_judged(ALLOWED, assignment.judged), *own]


def _not_judged(tools: Sequence[str], judged: Sequence[str]) -> Sequence[str]:
    return [tool for tool in tools if not is_meant(tool, judged)]


def _user(words: str, **more: str) -> str:
    """A message as the program takes it; one with a known uuid is taken only once."""
    message = {"role": "user", "content": [{"type": "text", "text": words}]}
    return json.dumps({"type": "user", "message": message, **more})
