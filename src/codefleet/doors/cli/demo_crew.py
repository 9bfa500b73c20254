"""What `fleet demo --serve` shows besides tasks: a workflow, and agents that talk."""

from pathlib import Path
from typing import TYPE_CHECKING

from codefleet.domain.workflow.workflow import parse

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

SCOUT = """\
Find out how other programs count.

```fleet
say I read how other programs count words.
wait 6
say Most split at spaces; a few follow Unicode.
usage input=2400 output=120 cost=0.009
wait 90
say Two of them count an apostrophe as part of a word.
wait 90
say Hyphens divide opinions: half of the programs split there.
wait 90
finish --no-changes Five programs are compared.
```
"""


async def add_crew(fleet: "Fleet", plan: Path) -> None:
    """A workflow with a gate, and a swarm with a worker, posts, mail and a checkpoint."""
    import yaml  # here, because only files need it

    await fleet.start(parse(yaml.safe_load(plan.read_text())))
    swarm = await fleet.create_swarm("research", description="How others count", max_agents=2)
    await fleet.spawn("scout", SCOUT, swarm=swarm.id)
    await _talk(fleet, swarm.id)


async def _talk(fleet: "Fleet", swarm: str) -> None:
    await fleet.post(swarm, "directive", {"text": "Name your sources."}, priority="high")
    await fleet.post(swarm, "status", {"text": "Three programs read, two to go."}, sender="scout")
    await fleet.send_mail(
        "human", "Thai has no spaces between words.", subject="A find", sender="scout"
    )
    await fleet.add_checkpoint(
        "Compare five programs", "Three are compared", author="scout", next=["Compare the others"]
    )
    await fleet.remember("line endings", "Windows ends lines with two characters.", handle="scout")
