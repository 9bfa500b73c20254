"""aider: plain text for people, with a line of tokens and money after each answer."""

import re
from collections.abc import Iterator

from codefleet.coder import Abilities, Assignment, Probe, Start
from codefleet.coders import trouble
from codefleet.coders.jsonl import text
from codefleet.coders.options import PROVIDER_KEYS, Options, flag
from codefleet.domain.model import Usage
from codefleet.domain.signals import Said, Signal, Used

TOKENS = re.compile(
    r"Tokens: ([\d.,]{1,12}k?) sent,(?: [\d.,]{1,12}k? cache \w+,){0,2} ([\d.,]{1,12}k?) received\."
    r"(?: Cost: \$([\d.]{1,12}) message, \$[\d.]{1,12} session\.)?$"
)


class Aider:
    """Starts and reads aider."""

    name = "aider"
    program = "aider"
    abilities = Abilities(reports_cost=True, reports_tokens=True, keys=PROVIDER_KEYS)
    probe = Probe(install="pip install aider-chat")

    def start(self, assignment: Assignment) -> Start:
        options = Options(self.name, assignment.options)
        return Start(
            argv=[
                options.text("program", self.program),
                *("--yes-always", "--no-stream", "--no-pretty", "--no-check-update"),
                "--no-gitignore",  # the user's ignore list is not ours to edit
                f"--message-file={assignment.prompt_file}",
                *flag("model", assignment.run.model),
                *options.texts("args"),
            ],
            env=options.env(),
        )

    def read(self, line: str) -> Iterator[Signal]:
        words = text(line).strip()
        if found := TOKENS.match(words):
            sent, received, cost = found.groups()
            usage = Usage(
                input_tokens=int(_number(sent)),
                output_tokens=int(_number(received)),
                cost_usd=_number(cost or "0"),
            )
            yield Used(usage)
        elif words:
            yield Said(words)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return trouble.of_the_call(stderr)


coder = Aider()


def _number(words: str) -> float:
    """`2,431`, `12k` or `0.03` as a number; anything else is 0."""
    try:
        return float(words.rstrip("k").replace(",", "")) * (1000 if words.endswith("k") else 1)
    except ValueError:
        return 0.0
