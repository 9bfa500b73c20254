"""The scripted coder: an agent that follows a small script in the task's prompt.

It needs no key and no network, so it is the demo's agent, the tests' agent, and a way to try a
workflow before paying for it. `scripted_agent.py` is the program and explains the script.

If it stands in for another coder, prompts contain no script. Then it uses the one in the settings
for the workflow's stage, or for any:

    [coders.scripted.scripts]
    review = "result completed_no_changes It is fine."
    "*" = "append log.txt done"
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from codefleet.coder import Abilities, Assignment, Start
from codefleet.coders import jsonl
from codefleet.coders.script_text import blocks
from codefleet.domain.signals import Signal, Wants

PROGRAM = Path(__file__).with_name("scripted_agent.py")


class Scripted:
    """Starts and reads the scripted agent."""

    name = "scripted"
    abilities = Abilities(
        verified=True,
        resume=True,
        reports_cost=True,
        reports_tokens=True,
        says_when_done=True,
        reports_context=True,
        memory_mb=30,
        talks=True,
    )

    def start(self, assignment: Assignment) -> Start:
        session = assignment.resume or assignment.run.id
        # The progress of a session is saved next to its first run, for all runs that resume it.
        notes = assignment.prompt_file.parent.parent / Path(session).name / "session.json"
        argv = [
            *(sys.executable, "-I", "-S", str(PROGRAM)),
            f"--attempt={assignment.run.number}",
            f"--session={session}",
            f"--notes={notes}",
            f"--resume={'yes' if assignment.resume else 'no'}",
        ]
        # A resumed session gets only what is new, but this agent does not remember its script.
        script = f"{assignment.task.prompt}\n\n" if assignment.resume else ""
        told = _with_script(script + assignment.prompt, assignment)
        return Start(argv=argv, stdin=jsonl.say("prompt", told), listens=True)

    def read(self, line: str) -> Iterator[Signal]:
        return jsonl.read(line)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return iter(())

    def say(self, id: str, text: str) -> str:
        return jsonl.say(id, text)

    def permit(self, wants: Wants, *, allowed: bool, why: str = "") -> str:
        return jsonl.permit(wants.request, allowed=allowed, why=why)


def _with_script(prompt: str, assignment: Assignment) -> str:
    """The prompt and, if it has no script, the one in the settings. It ignores the options of other
    coders, since it stands in for any of them."""
    known = assignment.options.get("scripts")
    if not isinstance(known, Mapping) or any(True for _ in blocks(prompt, "fleet")):
        return prompt
    stage = assignment.task.stage.name if assignment.task.stage else ""
    script = known.get(stage, known.get("*"))
    return f"{prompt}\n\n```fleet\n{script}\n```\n" if isinstance(script, str) else prompt


coder = Scripted()
