"""Cursor: `agent -p --output-format=stream-json`, which prints one JSON object per line.

It reports a failure only on stderr and by its exit code. Other programs are called `agent` too: the
option `program` names the right one.
"""

from collections.abc import Iterator

from codefleet.coder import Abilities, Assignment, Probe, Start
from codefleet.coders import trouble
from codefleet.coders.jsonl import parsed, text
from codefleet.coders.options import Options, flag, pointer
from codefleet.coders.tools import detail
from codefleet.domain.signals import Broke, Finished, Said, Signal, Started, Tool


class Cursor:
    """Starts and reads Cursor's agent."""

    name = "cursor"
    program = "agent"
    abilities = Abilities(resume=True, says_when_done=True, keys=("CURSOR_API_KEY",))
    probe = Probe()

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options)
        return Start(
            argv=[
                options.text("program", self.program),
                *("-p", "--output-format=stream-json", "--trust"),
                "--force",  # without it edits are only proposed
                f"--workspace={assignment.worktree}",
                *flag("model", assignment.run.model),
                *flag("resume", assignment.resume),
                *options.texts("args"),
                *("--", pointer(assignment)),
            ],
            env=options.env("CURSOR_CONFIG_DIR"),
        )

    def read(self, line: str) -> Iterator[Signal]:
        event = parsed(line)
        words = text(event.get("result"))
        match event:
            case {"type": "system", "subtype": "init"}:
                session, model = text(event.get("session_id")), text(event.get("model"))
                yield Started(session or None, model or None)
            case {"type": "assistant", "message": {"content": list(parts)}}:
                yield from _said(parts)
            case {"type": "tool_call", "subtype": str(phase), "tool_call": dict(call)}:
                yield from _tools(call, done=phase == "completed")
            case {"type": "result", "subtype": "success", "is_error": False}:
                yield Finished(words)
            case {"type": "result"}:
                yield Broke(words)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return trouble.of_the_call(stderr)


coder = Cursor()


def _said(parts: list[object]) -> Iterator[Signal]:
    for part in parts:
        match part:
            case {"type": "text", "text": str(words)} if words:
                yield Said(text(words))


def _tools(call: dict[str, object], *, done: bool) -> Iterator[Signal]:
    """A call is keyed by its kind: `readToolCall`, `shellToolCall` and so on."""
    for kind, what in call.items():
        match what:
            case {"args": dict(arguments)}:
                yield Tool(text(kind).removesuffix("ToolCall"), detail(arguments), done)
