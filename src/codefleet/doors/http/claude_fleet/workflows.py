"""`/workflows` and `/executions`: a workflow here is one execution, and starts when it is made."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, field

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Task
from codefleet.domain.noun import Noun
from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import State
from codefleet.domain.workflow import workflow as plans
from codefleet.doors.http.claude_fleet.payload import Settled, maybe_milliseconds, milliseconds
from codefleet.fleet import Fleet

PROMPTS = ("prompt", "task", "description", "title")
"""Where a step says what to do, the fullest first."""
RETRIES = 1

Limit = Annotated[int, Meta(ge=1, le=1000)]
Milliseconds = Annotated[int, Meta(ge=1, le=10**12)]
Retries = Annotated[int, Meta(ge=0, le=10)]


class StepType(StrEnum):
    """The kinds of steps that give work to an agent."""

    TASK = "task"
    SPAWN = "spawn"


class OnFailure(StrEnum):
    """What a failed step means for the others."""

    FAIL = "fail"
    SKIP = "skip"
    RETRY = "retry"
    CONTINUE = "continue"


class StepDefinition(Noun, rename="camel"):
    """A step; its `config` says what to do in `prompt`, `task`, `description` or `title`."""

    key: str
    type: StepType
    config: dict[str, Any]
    name: str | None = None
    depends_on: Sequence[str] = ()
    on_failure: OnFailure = OnFailure.FAIL
    max_retries: Retries = RETRIES
    timeout_ms: Milliseconds | None = None


class WorkflowDefinition(Noun, rename="camel"):
    """The steps of a workflow."""

    steps: Annotated[Sequence[StepDefinition], Meta(min_length=1, max_length=100)]


class ExecutionStep(Noun, rename="camel"):
    """A step of an execution: one task."""

    id: str
    execution_id: str
    step_key: str
    status: State
    depends_on: Sequence[str]
    assigned_to: str | None
    error: str | None
    retry_count: int


class WorkflowExecution(Noun, rename="camel"):
    """A workflow and its state, which follows from its tasks."""

    id: str
    workflow_id: str
    name: str
    status: State
    repo: str
    started_at: int
    completed_at: int | None
    error: str | None
    created_at: int
    steps: Sequence[ExecutionStep] = field(default_factory=tuple)


async def create_workflow(
    fleet: Fleet,
    name: str,
    definition: WorkflowDefinition,
    description: str | None = None,
    repo: str | None = None,
    team_name: str | None = None,
) -> WorkflowExecution:
    """Turn the steps of a workflow into tasks, all or none; they start at once."""
    stages = [*_stages(definition.steps)]
    plan = plans.parse({"name": name, "prompt": description or name, "stages": stages})
    return await execution(fleet, (await fleet.start(plan, repo, team_name)).id)


async def created_workflow(fleet: Fleet, made: Sequence[str]) -> WorkflowExecution:
    """The workflow that a request started; its name comes after those of its tasks."""
    return await execution(fleet, made[-1])


async def start_workflow(fleet: Fleet, ref: str) -> WorkflowExecution:
    """Start the failed and cancelled steps of a workflow again; one that goes on stays as it is."""
    stands = await fleet.workflow(ref)
    if stands.state in (State.FAILED, State.CANCELLED):
        stands = await fleet.retry_workflow(ref)
    return _execution(stands)


async def executions(fleet: Fleet, limit: Limit = 50) -> Sequence[WorkflowExecution]:
    """The workflows, the newest first."""
    return [_execution(each) for each in (await fleet.workflows())[:limit]]


async def execution(fleet: Fleet, ref: str) -> WorkflowExecution:
    """A workflow, its state and its steps."""
    return _execution(await fleet.workflow(ref))


async def steps(fleet: Fleet, ref: str) -> Sequence[ExecutionStep]:
    """The steps of a workflow, in their order."""
    return (await execution(fleet, ref)).steps


async def cancel_workflow(fleet: Fleet, ref: str) -> Settled:
    """Stop every step that has not ended; their work so far is archived, not lost."""
    return Settled(id=(await fleet.cancel_workflow(ref)).workflow.id)


def _stages(steps: Sequence[StepDefinition]) -> Iterator[Mapping[str, Any]]:
    for step in steps:
        timeout = {"timeout_s": step.timeout_ms / 1000} if step.timeout_ms else {}
        yield {
            "name": step.key,
            "prompt": _prompt(step),
            "needs": list(step.depends_on),
            "on_failure": _after_failure(step),
            **timeout,
        }


def _prompt(step: StepDefinition) -> str:
    said = [step.config[name] for name in PROMPTS if step.config.get(name)]
    if not said or not all(isinstance(each, str) for each in said):
        raise Invalid(f"the step {step.key} says nothing to do", hint="give its config a prompt")
    return str(said[0])


def _after_failure(step: StepDefinition) -> str:
    match step.on_failure:
        case OnFailure.RETRY:
            return f"retry {max(step.max_retries, RETRIES)}"
        case OnFailure.SKIP | OnFailure.CONTINUE:
            return "continue"
    return "fail"


def _execution(stands: WorkflowStatus) -> WorkflowExecution:
    flow = stands.workflow
    ended = max((task.updated_at for task in stands.tasks), default=None)
    wrong = [task.note for task in stands.tasks if task.state is State.FAILED]
    return WorkflowExecution(
        id=flow.id,
        workflow_id=flow.id,
        name=flow.name,
        status=stands.state,
        repo=flow.repo,
        started_at=milliseconds(flow.created_at),
        completed_at=maybe_milliseconds(ended) if stands.state.is_final else None,
        error=wrong[0] if wrong else None,
        created_at=milliseconds(flow.created_at),
        steps=[_step(flow.id, task) for task in stands.tasks],
    )


def _step(flow: str, task: Task) -> ExecutionStep:
    return ExecutionStep(
        id=task.id,
        execution_id=flow,
        step_key=task.stage.name if task.stage else task.title,
        status=task.state,
        depends_on=task.needs,
        assigned_to=task.handle or task.assignee,
        error=task.note if task.state is State.FAILED else None,
        retry_count=max(0, task.runs - 1),
    )
