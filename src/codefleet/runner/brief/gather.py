"""Gathering what an agent should know when it starts."""

from collections.abc import Sequence

from codefleet.config import Config
from codefleet.domain.model import Message, Question, Repo, Result, Run, Task
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.brief.prompt import PromptInput

OUTSIDER = "somebody outside of your team"


async def brief(
    fleet: Fleet, task: Task, run: Run, repo: Repo, settings: Config, conflicts: Sequence[str]
) -> PromptInput:
    """Everything that the prompt for the agent of this run is made of."""
    questions = await Dispatch(fleet).questions_of(task.id)
    runs = await fleet.runs_of(task.id)
    return PromptInput(
        task=task,
        earlier=[each for each in runs if each.number < run.number],
        answers=[q for q in questions if q.answer is not None],
        conflicts=conflicts,
        checks=(*settings.checks, *task.checks),
        trunk=repo.trunk,
        collisions=await _collisions(fleet, task),
        claims=await _claims(fleet, task),
        memories=await Dispatch(fleet).memories_for(task),
        messages=await _messages(fleet, task, run),
        # The prompt of a stage names the results it wants.
        results=() if task.stage else await _results(fleet, task),
    )


async def asked_before(fleet: Fleet, run: Run) -> Sequence[Question]:
    """The questions that agents of this task asked before this run, without permission requests."""
    asked = await Dispatch(fleet).questions_of(run.task)
    return [question for question in asked if question.run != run.id and question.tool is None]


async def _results(fleet: Fleet, task: Task) -> Sequence[tuple[Task, Result]]:
    """The results of the tasks that this one needs, each from its last run with a result."""
    needs = {need.id: need for need in await Dispatch(fleet).needs_of(task)}
    runs = await fleet.runs_of(*needs)
    said = {run.task: run.result for run in runs if run.result}
    return [(needs[need], result) for need, result in said.items()]


async def _collisions(fleet: Fleet, task: Task) -> Sequence[tuple[str, Sequence[str]]]:
    """Which other tasks are known to change the same lines."""
    found = await fleet.open_conflicts()
    return [
        (_title(await fleet.get(other), task), conflict.paths)
        for conflict in found
        for other in conflict.tasks
        if task.id in conflict.tasks and other != task.id
    ]


def _title(other: Task, task: Task) -> str:
    """What the agent of a task may know of another: nothing, if its team may not."""
    is_visible = task.team in (None, other.team)
    return other.title if is_visible else f"the work of {OUTSIDER}"


async def _claims(fleet: Fleet, task: Task) -> Sequence[tuple[str, str]]:
    """The files that others claim in this repo, and who does."""
    held = await fleet.file_claims(task.repo)
    return [
        (each.path, each.handle if task.team in (None, each.team) else OUTSIDER)
        for each in held
        if each.task != task.id
    ]


async def _messages(fleet: Fleet, task: Task, run: Run) -> Sequence[Message]:
    """Every message to the agents of this task: the last agent may have died before it read them.

    They count as delivered before the agent starts. A runner that dies in between does no harm,
    because the next prompt contains all delivered messages again.
    """
    for message in await Dispatch(fleet).messages_for(run):
        await Dispatch(fleet).delivered(message, run)
    return await Dispatch(fleet).messages_on(task)
