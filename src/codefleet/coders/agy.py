"""Antigravity: `agy --print`, which prints one JSON object per line.

It may end with exit code 0 and no output, so only its `result` counts.
"""

from collections.abc import Iterator

from codefleet.coder import Abilities, Assignment, Probe, Start
from codefleet.coders import trouble
from codefleet.coders.jsonl import Fields, amount, parsed, text
from codefleet.coders.options import Options, flag, pointer
from codefleet.domain.model import Usage
from codefleet.domain.signals import Broke, Finished, Said, Signal, Started, Used


class Agy:
    """Starts and reads Antigravity's command line."""

    name = "agy"
    program = "agy"
    abilities = Abilities(
        resume=True,
        reports_tokens=True,
        says_when_done=True,
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    )
    probe = Probe()

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options)
        return Start(
            argv=[
                options.text("program", self.program),
                f"--print={pointer(assignment)}",
                f"--add-dir={assignment.prompt_file.parent}",
                *("--output-format=stream-json", "--dangerously-skip-permissions"),
                "--print-timeout=24h",  # the fleet has its own limit; agy's would be five minutes
                *flag("model", assignment.run.model),
                *flag("conversation", assignment.resume),
                *options.texts("args"),
            ],
            env=options.env(),
        )

    def read(self, line: str) -> Iterator[Signal]:
        event = parsed(line)
        match event:
            case {"event": "init" | "result", "conversation_id": str(session)} if session:
                yield Started(text(session))
        match event:
            case {"event": "step_update", "text": str(words)} if words:
                yield Said(text(words))
            case {"event": "result"}:
                yield from _spent(event)
                yield _end(event)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return trouble.of_the_call(stderr)


coder = Agy()


def _spent(event: Fields) -> Iterator[Signal]:
    match event:
        case {"usage": dict(usage)}:
            yield Used(
                Usage(
                    input_tokens=int(amount(usage.get("input_tokens"))),
                    output_tokens=int(amount(usage.get("output_tokens"))),
                    cached_tokens=int(amount(usage.get("cache_read_tokens"))),
                )
            )


def _end(event: Fields) -> Signal:
    words = text(event.get("response")) or text(event.get("error"))
    return Finished(words) if event.get("status") == "SUCCESS" else Broke(words)
