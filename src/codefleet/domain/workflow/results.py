"""What one stage of a workflow hands on to the next: its result, as text and as git facts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from codefleet.domain.model import Check, Run, Task, TaskId, Workflow
from codefleet.domain.noun import Noun
from codefleet.domain.words import Outcome, State
from codefleet.domain.workflow.condition import Values

LONGEST_SUMMARY = 4000
CHOICE = re.compile(r"^\W*choice\W+([\w-]+)", re.IGNORECASE | re.MULTILINE)
ANSWER = re.compile(r"(?is)\W*(approved?|yes|ok|reject(?:ed)?|no)\b[\s:,.;-]*(.*)")
APPROVE, REJECT = "approve", "reject"
GATE_OPTIONS = (APPROVE, REJECT)


class StageStatus(StrEnum):
    """How a stage ended, as prompts and conditions call it."""

    COMPLETED = "completed"
    NO_CHANGES = "completed_no_changes"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"


class StageResult(Noun):
    """The result of a stage. Files, commits and checks are as the fleet saw them; the text is the
    agent's. A stage that has not ended has no status."""

    stage: str
    task: TaskId
    state: State
    status: StageStatus | None = None
    summary: str = ""
    files: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    commits: int = 0
    tip: str | None = None
    branch: str | None = None
    landed: str | None = None
    checks: tuple[Check, ...] = ()
    choice: str = ""
    note: str = ""

    @property
    def survived(self) -> bool:
        """Did it do its work? One that failed while its workflow went on did not."""
        return self.status in (StageStatus.COMPLETED, StageStatus.NO_CHANGES)


class Collected(Noun):
    """The results of a workflow: of its last stages, or of all."""

    workflow: Workflow
    state: State
    results: tuple[StageResult, ...]


def results(tasks: Sequence[Task], runs: Iterable[Run]) -> list[StageResult]:
    """The result of every stage, from its task and the last run of it."""
    last = {run.task: run for run in runs}
    return [_result(task, last.get(task.id)) for task in tasks]


def values(found: Iterable[StageResult]) -> dict[tuple[str, str], str]:
    """The values for conditions: the fields of each result as texts."""
    return {
        (each.stage, field): text
        for each in found
        for field, text in {
            "summary": each.summary,
            "files": ", ".join(each.files),
            "next_steps": "\n".join(each.next_steps),
            "status": each.status or "",
            "result": _without_checks(each),
        }.items()
    }


def _without_checks(result: StageResult) -> str:
    said = {name: value for name, value in result.plain().items() if name != "checks"}
    return msgspec.json.encode(said).decode()


def quoted(found: Values) -> Mapping[tuple[str, str], str]:
    """The same for prompts: multi-line values are quoted, so that they inform, not instruct."""
    return {key: _quoted(text) if "\n" in text else text for key, text in found.items()}


def choice(said: str, summary: str) -> str:
    """The stage that a judge picked: as reported, or in a line `choice: NAME` of its summary."""
    named = said.strip() or (found[1] if (found := CHOICE.search(summary)) else "")
    return named.strip()


def approval(text: str) -> tuple[bool, str] | None:
    """Whether a human opened a gate, and any comment; None if it is neither yes nor no."""
    found = ANSWER.fullmatch(text)
    if not found:
        return None
    return found[1].lower().startswith(("approve", "yes", "ok")), found[2].strip()


def _result(task: Task, run: Run | None) -> StageResult:
    said = run.result if run else None
    seen = run.evidence if run else None
    words = (said.summary if said else "") or (run.said if run else "")
    return StageResult(
        stage=task.stage.name if task.stage else task.title,
        task=task.id,
        state=task.state,
        status=_status(task, run),
        summary=(words or task.note)[:LONGEST_SUMMARY],
        files=tuple(change.path for change in seen.changes) if seen else (),
        next_steps=said.next_steps if said else (),
        commits=seen.commits if seen else 0,
        tip=seen.tip if seen else None,
        branch=task.branch,
        landed=task.landed,
        checks=seen.checks if seen else (),
        choice=said.choice if said else "",
        note=task.note,
    )


def _status(task: Task, run: Run | None) -> StageStatus | None:
    if task.state is not State.COMPLETED:
        return StageStatus(task.state) if task.state.is_final else None
    if task.failed_but_continued:
        return StageStatus.FAILED
    if run and run.outcome is Outcome.SKIPPED:
        return StageStatus.SKIPPED
    if run and run.result:
        return StageStatus(run.result.status)
    unchanged = run and run.evidence and not run.evidence.changes
    return StageStatus.NO_CHANGES if unchanged else StageStatus.COMPLETED


def _quoted(text: str) -> str:
    return "\n" + "\n".join(f"> {line}" for line in text.splitlines())
