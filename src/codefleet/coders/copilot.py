"""GitHub Copilot: `copilot -p --output-format=json`, which prints one JSON object per line."""

from collections.abc import Iterator

from codefleet.coder import Abilities, Assignment, Probe, Start
from codefleet.coders import trouble
from codefleet.coders.jsonl import parsed, text
from codefleet.coders.options import Options, flag, pointer
from codefleet.coders.tools import detail
from codefleet.domain.signals import Finished, Said, Signal, Started, Tool


class Copilot:
    """Starts and reads GitHub Copilot's command line."""

    name = "copilot"
    program = "copilot"
    abilities = Abilities(resume=True, keys=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"))
    probe = Probe(install="npm install -g @github/copilot")

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options)
        return Start(
            argv=[
                options.text("program", self.program),
                f"--prompt={pointer(assignment)}",
                *("--output-format=json", "--allow-all", "--no-ask-user"),
                *flag("model", assignment.run.model),
                *flag("resume", assignment.resume),
                *options.texts("args"),
            ],
            env=options.env("COPILOT_HOME"),
        )

    def read(self, line: str) -> Iterator[Signal]:
        event = parsed(line)
        match event:
            case {"type": "session.start", "data": {"sessionId": str(session)}} if session:
                yield Started(text(session))
            case {"type": "assistant.message", "data": {"content": str(words)}} if words:
                yield Said(text(words))
            case {"type": "tool.execution_start", "data": {"toolName": str(tool), **call}}:
                yield Tool(text(tool), detail(call.get("arguments")))
            case {"type": "tool.execution_complete"}:
                yield Tool("", done=True)
            case {"type": "result", "sessionId": str(session), "exitCode": 0}:
                yield Started(text(session) or None)
                yield Finished()

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return trouble.of_the_call(stderr)


coder = Copilot()
