"""A stage of a workflow: what is decided before its agent starts, what the agent learns about
earlier stages, and which work a judge takes over."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.landing_modes import ends_on_trunk
from codefleet.domain.model import Question, Result, Run, Stage, Task
from codefleet.domain.quoting import quoted
from codefleet.domain.signals import Asks
from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import Outcome, Reason, ReportedStatus
from codefleet.domain.workflow import condition, results, template
from codefleet.domain.workflow.results import GATE_OPTIONS, StageResult
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.runner.git.archive import archive
from codefleet.runner.git.git import Git
from codefleet.runner.git.own_branch import detach_if_foreign
from codefleet.runner.git.salvage import salvage
from codefleet.runner.run.verdict import Asked, Delivered, Failed, Verdict

JUDGING = """\
## Candidates

Pick the best of these. Each is on a branch of its own: `git diff HEAD...BRANCH` shows its work.
Change nothing yourself; the work that you pick is taken over as it is. In `result.json`, write the
name of the one you pick as "choice", and the reason into "summary".

{candidates}"""


class Skipped(NamedTuple):
    """The stage's condition does not hold."""

    note: str


class Settled(NamedTuple):
    """The stage is done without an agent; `takes` is the commit that becomes its work."""

    result: Result
    takes: str | None = None
    ends_on_trunk: bool = False


Decision = Skipped | Settled | Asked | Failed


async def decide(fleet: Fleet, task: Task, run: Run) -> Decision | None:
    """The outcome of a stage that needs no agent; None if it needs one."""
    if task.stage is None:
        return None
    known = await _known(fleet, task.stage)
    when = task.stage.when
    if when is not None and not condition.parse(when).holds(results.values(known.results)):
        return Skipped(f"skipped: {when} does not hold")
    if task.stage.gate is not None:
        answered = await _answered(fleet, task, run)
        return _gate(task.stage, answered, known.fill(task.stage.gate))
    if task.stage.judges:
        return _without_judging(task.stage, known.survivors(task.stage))
    return None


async def with_results(fleet: Fleet, task: Task) -> Task:
    """The task as its agent gets it: with the results of earlier stages in its prompt."""
    if task.stage is None:
        return task
    known = await _known(fleet, task.stage)
    prompt = known.fill(task.prompt)
    if task.stage.judges:
        listed = "\n\n".join(map(_candidate, known.survivors(task.stage)))
        prompt = f"{prompt}\n\n{JUDGING.format(candidates=listed)}"
    return task.evolve(prompt=prompt)


class Judge:
    """A stage that judges others, once its agent is done. Any other stage is left unchanged."""

    def __init__(self, fleet: Fleet, task: Task, run: Run) -> None:
        self.fleet, self.task, self.run = fleet, task, run

    async def verdict(
        self, ended: Delivered, said: Result | None, words: str
    ) -> tuple[Verdict, Result | None]:
        """The verdict and result of the run; it takes over the work that was picked."""
        if self.task.stage is None or not self.task.stage.judges:
            return ended, said
        survivors = (await _known(self.fleet, self.task.stage)).survivors(self.task.stage)
        told = said or Result(summary=words)
        name = results.choice(told.choice, told.summary) or results.choice("", words)
        for each in survivors:
            if each.stage.casefold() == name.casefold() and each.tip:
                await reset_to_winner(Path(str(self.run.worktree)), each.tip, self.run)
                picked = told.evolve(choice=each.stage, status=ReportedStatus.COMPLETED)
                return Delivered(no_changes=True), picked
        names = ", ".join(each.stage for each in survivors)
        what = f"the judge picked {name!r}" if name else "the judge picked none"
        return Failed(Reason.UNKNOWN, f"{what}; the choice is one of: {names}"), said


async def reset_to_winner(worktree: Path, commit: str, run: Run) -> None:
    """Reset the branch of this worktree to `commit`; what was on it is archived."""
    git = Git(worktree)
    await detach_if_foreign(worktree, str(run.branch))
    await salvage(worktree, "What a judge left in its worktree")
    before = await git("rev-parse", "HEAD")
    if before != commit:
        if before != run.base:
            await archive(worktree, f"{run.id}-before", before)
        await git("reset", "--quiet", "--hard", "--no-recurse-submodules", commit)


class _Known(NamedTuple):
    """A workflow as one of its stages sees it."""

    flow: WorkflowStatus
    results: Sequence[StageResult]

    def fill(self, text: str) -> str:
        values = results.quoted(results.values(self.results))
        names = [each.stage for each in self.results]
        return template.fill(text, self.flow.workflow.prompt, names, values)

    def survivors(self, stage: Stage) -> list[StageResult]:
        return [each for each in self.results if each.stage in stage.judges and each.survived]


async def _known(fleet: Fleet, stage: Stage) -> _Known:
    flow = await fleet.workflow(stage.workflow)
    return _Known(flow, results.results(flow.tasks, flow.runs))


def _gate(stage: Stage, answered: Question | None, question: str) -> Decision:
    answer = results.approval(answered.answer or "") if answered else None
    if answer is None:
        return Asked(Asks(question, GATE_OPTIONS))
    approved, words = answer
    if not approved:
        return Failed(
            Reason.CANCELLED, f"a human declined: {words}" if words else "a human declined"
        )
    result = Result(status=ReportedStatus.NO_CHANGES, summary=words or "approved")
    return Settled(result, ends_on_trunk=ends_on_trunk(stage.lands))


async def _answered(fleet: Fleet, task: Task, run: Run) -> Question | None:
    """The question that was asked for this run; one that a human declined is asked again."""
    earlier = [each for each in await fleet.runs_of(task.id) if each.number < run.number]
    for each in reversed(earlier):
        if each.outcome is Outcome.ASKED:
            asked = await Dispatch(fleet).questions_of(task.id)
            return next((question for question in asked if question.run == each.id), None)
        if each.reason is Reason.CANCELLED:
            return None
    return None


def _without_judging(stage: Stage, survivors: Sequence[StageResult]) -> Decision | None:
    if not survivors:
        names = ", ".join(stage.judges)
        return Failed(Reason.CANCELLED, f"nothing to judge: none of {names} succeeded")
    if len(survivors) > 1:
        return None
    only = survivors[0]
    why = f"{only.stage} is the only one that succeeded"
    return Settled(Result(summary=why, choice=only.stage), takes=only.tip)


def _candidate(each: StageResult) -> str:
    said = [each.summary, f"Files: {', '.join(each.files)}" if each.files else ""]
    said += [f"`{check.command}` succeeded" for check in each.checks if check.passed]
    words = quoted("\n".join(filter(None, said)))
    return f"`{each.stage}`, on branch `{each.branch}`:\n{words}"
