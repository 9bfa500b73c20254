"""Texts that want to be more than text, in every field of a fleet that takes them."""

from typing import Any, NamedTuple

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import LandingMode, State
from codefleet.domain.workflow.workflow import parse
from codefleet.fleet import Fleet
from tests.script import script

SIGN = "onerror=window.owned=1"
"""What every hostile text has in it."""
MARKUP = f"<img src=x {SIGN}><script>window.owned=1</script>"
LINK = "<a href=javascript:owned=1>link</a><iframe src=//elsewhere.invalid>"
ANSI = "\x1b[31mred\x1b[0m \x1b]8;;http://elsewhere.invalid\x07link\x1b]8;;\x07"
BIDI = "\u202eoverridden\u202c \u2067isolated\u2069 \u200f"
OTHERS = "שלום مرحبا 👩\u200d👩\u200d👧 naïve Größe"
WICKED = " ".join((MARKUP, LINK, ANSI, BIDI, OTHERS, "{{constructor}}", "${1+1}", "\a\b"))
TITLE = f"{MARKUP} {OTHERS}"
FILE = f"<img src=x {SIGN}> \u202egpj.txt"
WORD = "W" * 20_000
"""Longer than any line, and nowhere to break it."""
MEGABYTE = f"{MARKUP}\n" + "".join(f"{n:07} {'<b>x</b>' * 9}\n" for n in range(12_000))

WORK = script(
    *("say <<END", WICKED, WORD, "END"),
    *("note <<END", WICKED, WORD, "END"),
    f"shell printf '%s' '{MARKUP} {BIDI}' > output.txt",
    *(f"write '{FILE}' <<END", WICKED, WORD, "END"),
    f"commit {WICKED}",
    *("result <<END", '{"status": "completed", "summary": "' + MARKUP + '"}', "END"),
)
LONG_WORK = script(
    *("say <<END", MEGABYTE, "END"),
    "shell python3 -c \"print('<b>' * 400000)\" > one-line.txt",
    "shell python3 -c \"print('<i>\\n' * 30000)\" > many-lines.txt",
    "commit A lot",
)


class Tasks(NamedTuple):
    """Tasks with hostile texts: in review, asking, answered, and with a megabyte of everything."""

    reviewed: Task
    asking: Task
    answered: Task
    long: Task


async def add_tasks(fleet: Fleet) -> Tasks:
    """Add what agents turn into hostile output."""
    reviewed, asking, answered, long = await fleet.add(
        [
            _draft(WORK, checks=("git show HEAD",)),
            _draft(script(f"ask {WICKED} | {MARKUP} | {BIDI}")),
            _draft(script(f"ask {MARKUP}", "write answer.txt <<END", "{{answer}}", "END")),
            _draft(LONG_WORK, checks=("git show HEAD",)),
        ]
    )
    return Tasks(reviewed, asking, answered, long)


def _draft(prompt: str, **fields: Any) -> Draft:
    labels = (MARKUP, BIDI, WORD[:300])
    return Draft(title=TITLE, prompt=prompt, labels=labels, lands=LandingMode.REVIEW, **fields)


STATES = (State.REVIEW, State.ASKING, State.ASKING, State.REVIEW)
"""What becomes of them until somebody answers."""


class Talk(NamedTuple):
    """A swarm and a workflow with hostile texts."""

    swarm: str
    flow: str


async def add_talk(fleet: Fleet) -> Talk:
    """What agents and people write to each other."""
    swarm = await fleet.create_swarm(MARKUP[:100], description=f"{WICKED} {WORD[:5000]}")
    await fleet.spawn("scout", WICKED, swarm=swarm.id, assignee="nobody")
    await fleet.post(swarm.id, "directive", {"text": WICKED, MARKUP: WORD})
    await fleet.send_mail("human", f"{WICKED} {WORD}"[:10_000], subject=MARKUP)
    await fleet.hand_off("human", {MARKUP: WICKED})
    await fleet.add_checkpoint(WICKED, f"{WICKED} {WORD[:5000]}", author="human", next=[WICKED])
    await fleet.remember(MARKUP, f"{WICKED} {WORD[:5000]}")
    gate = {"name": "gate", "gate": WICKED}
    flow = await fleet.start(parse({"name": MARKUP, "prompt": WICKED, "stages": [gate]}))
    return Talk(swarm.id, flow.id)
