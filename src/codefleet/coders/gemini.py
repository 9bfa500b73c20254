"""Gemini CLI: `gemini --output-format=stream-json`, which prints one JSON object per line.

Text comes in small pieces, and the final text is what came after the last tool. Without a `result`
line the program was killed, whatever its exit code. The exit code of a failure is the HTTP status
modulo 256, or one of the program's own.
"""

import re
from collections.abc import Iterator

from codefleet.coder import Abilities, Answers, Assignment, Endpoint, Probe, Start
from codefleet.coders import mcp_config, trouble
from codefleet.coders.jsonl import Fields, amount, first_object, parsed, text
from codefleet.coders.options import Options, flag
from codefleet.coders.tools import detail
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Broke,
    Changed,
    Finished,
    Said,
    Signal,
    Started,
    Tool,
    Used,
)
from codefleet.domain.words import Reason

WRITERS = ("write_file", "replace")

API_ERROR = re.compile(r"\[API Error: (.*?)\](?:\n|$)", re.DOTALL)
TOO_MANY = "\nPlease wait and try again later."
"""What the program appends to the provider's message after a status of 429."""

MESSAGES = (
    (re.compile(r"You have exhausted your daily quota"), Reason.QUOTA),
    (re.compile(r"exception TypeError: fetch failed"), Reason.CRASHED),
    (re.compile(r"terminated$"), Reason.CRASHED),  # the connection broke in the middle
    *trouble.GOOGLE,
)
KINDS = {
    "FatalAuthenticationError": Reason.AUTH,
    "FatalConfigError": Reason.CODER_MISSING,
    "FatalSandboxError": Reason.CODER_MISSING,
    "FatalTurnLimitedError": Reason.TIMEOUT,
}
EXIT_CODES = {
    41: Reason.AUTH,
    42: Reason.UNKNOWN,  # bad arguments or input
    44: Reason.CODER_MISSING,
    52: Reason.CODER_MISSING,
    53: Reason.TIMEOUT,
}
NO_SESSION = re.compile(r"^Error resuming session: .*", re.MULTILINE)
NOISE = re.compile(
    r"\s+at |YOLO mode is enabled|Loaded cached credentials|\(node:\d+\)|\(Use `node "
    r"|Ripgrep is not available|Warning: |\[STARTUP\]|\[dotenv|.* Skipping metrics\.$"
)
STATUSES = {status % 256: status for status in (400, 401, 403, 404, 429, 500, 502, 503, 504)}


SETTINGS, VARIABLES, LOGIN = ".gemini/settings.json", ".gemini/.env", ".gemini/oauth_creds.json"
KEY = "GEMINI_API_KEY"
OTHER_WAYS = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GEMINI_BASE_URL")


def _logged_in(answers: Answers) -> bool | None:
    """No command reports it. What is not in a file may be in the system's keyring."""
    if answers.env.get(KEY) or KEY in answers.files.get(VARIABLES, "") or LOGIN in answers.files:
        return True
    match first_object(answers.files.get(SETTINGS, "")):
        case {"security": {"auth": {"selectedType": str()}}}:
            return None
    return None if any(answers.env.get(name) for name in OTHER_WAYS) else False


class Gemini:
    """Starts and reads Gemini CLI."""

    name = "gemini"
    program = "gemini"
    abilities = Abilities(
        verified=True,
        resume=True,
        resume_after_crash=True,
        reports_tokens=True,
        says_when_done=True,
        http_tools=True,
        keys=(KEY, "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"),
        gateways=OTHER_WAYS,
    )
    probe = Probe(
        install="npm install -g @google/gemini-cli",
        folder=("GEMINI_CLI_HOME", "~"),
        files=(SETTINGS, VARIABLES, LOGIN),
        logged_in=_logged_in,
        log_in="run `gemini` once and log in, or let agents see your key: "
        "`fleet config set environment GEMINI_API_KEY`",
    )

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options, "approval_mode")
        modes = ("yolo", "auto_edit", "default", "plan")
        return Start(
            argv=[
                options.text("program", self.program),
                "--output-format=stream-json",
                *flag("approval-mode", options.choice("approval_mode", *modes)),
                *flag("model", assignment.run.model),
                *flag("resume", assignment.resume),
                *options.texts("args"),
            ],
            env=options.env(
                "GEMINI_CLI_HOME",
                GEMINI_CLI_NO_RELAUNCH="true",  # else a parent process swallows the stop signal
                GEMINI_CLI_TRUST_WORKSPACE="true",  # the worktree is the fleet's own
                **_own_tools(assignment.endpoint),
            ),
            stdin=assignment.prompt,
        )

    def read(self, line: str) -> Iterator[Signal]:
        event = parsed(line)
        match event:
            case {"type": "init"}:
                session, model = text(event.get("session_id")), text(event.get("model"))
                yield Started(session or None, model or None)
            case {"type": "message", "role": "assistant", "content": str(words)} if words:
                yield Said(text(words), more=event.get("delta") is True)
            case {"type": "tool_use", "tool_name": str(tool)}:
                call = text(event.get("tool_id"))
                yield Tool(text(tool), detail(event.get("parameters")), call=call)
                yield from _touched(event)
            case {"type": "tool_result"}:
                call, result = text(event.get("tool_id")), text(event.get("output"))
                yield Tool(call.partition("__")[0], done=True, call=call, result=result)
            case {"type": "result"}:
                yield from _spent(event)
                yield from _end(event)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        if found := NO_SESSION.search(stderr):
            yield Broke(text(found[0]), Reason.SESSION_LOST)
        elif exit_code in EXIT_CODES:
            yield Broke(_complaint(stderr), EXIT_CODES[exit_code])
        elif exit_code in STATUSES:
            status = STATUSES[exit_code]
            yield trouble.of_status(status, f"the provider answered with status {status}")
        else:
            yield from trouble.of_the_call(stderr)


coder = Gemini()


def _own_tools(endpoint: Endpoint | None) -> dict[str, str]:
    """What the user's settings can refer to: it takes servers from there only."""
    if endpoint is None:
        return {}
    return {mcp_config.URL: endpoint.url, **mcp_config.token_variable(endpoint)}


def _complaint(stderr: str) -> str:
    """Its error message, without its startup output and stack traces."""
    lines = (line for line in stderr.splitlines() if not NOISE.match(line))
    return trouble.last_words("\n".join(lines))


def _touched(event: Fields) -> Iterator[Signal]:
    match event:
        case {"tool_name": str(tool), "parameters": {"file_path": str(path)}}:
            if tool in WRITERS and path:
                yield Changed(text(path))


def _spent(event: Fields) -> Iterator[Signal]:
    """The usage of each model, the busiest last: it may use several, whichever was requested."""
    match event:
        case {"stats": {"models": dict(models)}} if models:
            used = {text(name): _usage(each) for name, each in models.items()}
            for name, usage in sorted(used.items(), key=lambda each: each[1].tokens):
                yield Used(usage, model=name or None)
        case {"stats": dict(stats)}:
            yield Used(_usage(stats))


def _usage(stats: object) -> Usage:
    told = stats if isinstance(stats, dict) else {}
    cached = int(amount(told.get("cached")))
    return Usage(
        input_tokens=max(0, int(amount(told.get("input_tokens"))) - cached),
        output_tokens=int(amount(told.get("output_tokens"))),
        cached_tokens=cached,
    )


def _end(event: Fields) -> Iterator[Signal]:
    match event:
        case {"status": "success"}:
            yield Finished()
        case {"error": {"type": "FatalCancellationError"}}:
            return  # whoever interrupted it knows why
        case {"error": {"type": str(kind), "message": str(message)}} if kind in KINDS:
            yield Broke(text(message), KINDS[kind])
        case {"error": {"message": str(message)}}:
            yield _failure(text(message))
        case _:
            yield Broke("the turn failed")


def _failure(message: str) -> Signal:
    """What an error message means: it contains the provider's response, as JSON or as text."""
    found = API_ERROR.match(message)
    said = found[1] if found else message
    answer = parsed(said).get("error")
    match answer:
        case {"message": str(words)}:
            said = text(words)
    for pattern, reason in MESSAGES:
        if pattern.match(said):
            return Broke(said, reason)
    match answer:
        case {"code": int(status)}:
            return trouble.of_status(status, said)
    return trouble.limited(said) if TOO_MANY in message else Broke(said)
