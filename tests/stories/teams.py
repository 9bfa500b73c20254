"""Two teams with work of every kind, and what their members can ask."""

from collections.abc import Sequence
from typing import NamedTuple

from codefleet.domain.access import AgentOf, Holder
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import (
    Checkpoint,
    Draft,
    Message,
    MessageId,
    Post,
    Question,
    QuestionId,
    Run,
    RunnerId,
    Swarm,
    Task,
    TokenId,
    Workflow,
)
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.words import Role
from codefleet.domain.workflow.plan import Plan
from codefleet.domain.workflow.workflow import parse
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import Write


class Talk(NamedTuple):
    """What the agents of a team tell each other."""

    swarm: Swarm
    post: Post
    mail: Message
    checkpoint: Checkpoint


class Work(NamedTuple):
    """What a team has."""

    running: Task
    waiting: Task
    run: Run
    flow: Workflow
    talk: Talk


def member(fleet: Fleet, team: str, role: Role = Role.TEAM_LEAD, handle: str = "ann") -> Fleet:
    """The fleet for a member of a team."""
    return fleet.acting_as(Holder(token=TokenId("t1"), handle=handle, team=team, role=role))


def plan() -> Plan:
    stages = [{"name": "build", "prompt": "Build"}, {"name": "test", "prompt": "Test"}]
    return parse({"name": "ship", "prompt": "Ship it", "stages": stages})


async def fill(fleet: Fleet, team: str) -> Work:
    """A team with a running task, one that waits for it, a workflow, questions and messages."""
    await fleet.create_team(team)
    await fleet.create_token(team, "ann", Role.TEAM_LEAD)
    await fleet.invite(team, Role.WORKER)
    lead = member(fleet, team)
    talk = await _talked(lead, team)
    secret = Draft(title=f"Secret of {team}", name="first", priority=5)
    first, second = await lead.add(
        [
            secret.evolve(handle=f"scout-{team}", swarm=talk.swarm.id),
            Draft(title=f"Another of {team}", needs=("first",)),
        ]
    )
    flow = await lead.start(plan())
    seat = Seat(f"agent-{team}", RunnerId(f"r-{team}"), "lab", "scripted")
    (claim,) = await Dispatch(fleet).claim([seat], ClaimFilter(tasks=(first.id,)))
    await _ask(fleet, claim.run)
    await member(fleet, team, Role.MONITOR).alert(f"Fire at {team}", first.id)
    await member(fleet, team, Role.NOTIFIER).notify(f"Hello {team}")
    return Work(claim.task, second, claim.run, flow, talk)


async def _talked(lead: Fleet, team: str) -> Talk:
    """Something of all that agents tell each other; the handles are the same in each team."""
    swarm = await lead.create_swarm(f"Hive of {team}")
    post = await lead.post(swarm.id, "status", {"done": f"half of {team}"})
    await lead.hand_off("desk", {"left": f"the rest of {team}"})
    await lead.remember("db", f"the port of {team}")
    await lead.claim_files([f"src/{team}/**"])
    mail = await lead.send_mail("desk", f"Hello, desk of {team}")
    return Talk(swarm, post, mail, await lead.add_checkpoint(f"Goal of {team}", "half way"))


async def _ask(fleet: Fleet, run: Run) -> None:
    """A question of the agent, and a message to it."""
    now = await fleet.now()
    asked = Question(
        id=QuestionId(f"{run.id}.q1"), task=run.task, run=run.id, text="Which?", asked_at=now
    )
    said = Message(
        id=MessageId(f"m-{run.id}"), agent=run.agent, task=run.task, text="Mind", sent_at=now
    )
    await fleet.core.write(Write(records=[asked, said]))


async def started(fleet: Fleet, *drafts: Draft) -> Sequence[Fleet]:
    """The fleet for the agents of these tasks."""
    tasks = await fleet.add(drafts)
    seats = [Seat(f"agent-{n}", RunnerId("r"), "lab", "scripted") for n, _ in enumerate(tasks)]
    only = ClaimFilter(tasks=tuple(task.id for task in tasks))
    claims = {claim.task.id: claim for claim in await Dispatch(fleet).claim(seats, only)}
    return [fleet.acting_as(AgentOf(run=claims[task.id].run.id)) for task in tasks]
