"""goose: `goose run --output-format=stream-json`, which prints one JSON object per line."""

from collections.abc import Iterator

from codefleet.coder import Abilities, Assignment, Probe, Start
from codefleet.coders import trouble
from codefleet.coders.jsonl import Fields, amount, parsed, text
from codefleet.coders.options import PROVIDER_KEYS, Options, flag
from codefleet.coders.tools import detail
from codefleet.domain.model import Usage
from codefleet.domain.signals import Broke, Finished, Said, Signal, Tool, Used


class Goose:
    """Starts and reads goose."""

    name = "goose"
    program = "goose"
    abilities = Abilities(
        reports_tokens=True, says_when_done=True, keys=PROVIDER_KEYS, memory_mb=110
    )
    probe = Probe(install="npm install -g @aaif/goose", help=("run", "--help"))

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options)
        return Start(
            argv=[
                options.text("program", self.program),
                *("run", "--output-format=stream-json", "--quiet", "--no-session"),
                f"--instructions={assignment.prompt_file}",
                *flag("model", assignment.run.model),
                *options.texts("args"),
            ],
            env=options.env("GOOSE_PATH_ROOT", GOOSE_MODE="auto"),
        )

    def read(self, line: str) -> Iterator[Signal]:
        event = parsed(line)
        match event:
            case {"type": "message", "message": {"role": str(role), "content": list(parts)}}:
                for part in parts:
                    yield from _part(part, role)
            case {"type": "error"}:
                yield Broke(text(event.get("error")) or "goose failed")
            case {"type": "complete"}:
                yield Used(_usage(event))
                yield Finished()

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return trouble.of_the_call(stderr)


coder = Goose()


def _part(part: object, role: str) -> Iterator[Signal]:
    match part:
        case {"type": "text", "text": str(words)} if role == "assistant" and words:
            yield Said(text(words), more=True)  # a long answer comes in pieces
        case {"type": "toolRequest", "toolCall": {"value": {"name": str(tool), **call}}}:
            yield Tool(text(tool), detail(call.get("arguments")))
        case {"type": "toolResponse"}:
            yield Tool("", done=True)


def _usage(event: Fields) -> Usage:
    return Usage(
        input_tokens=int(amount(event.get("input_tokens"))),
        output_tokens=int(amount(event.get("output_tokens"))),
    )
