"""Everything known about one task, collected and drawn."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from codefleet.domain.budget import told
from codefleet.domain.model import (
    Budget,
    Check,
    Evidence,
    Question,
    Result,
    Run,
    Usage,
)
from codefleet.domain.views import Limit
from codefleet.doors.cli import show
from codefleet.doors.cli.text import brief, clean, clean_lines, count, local
from codefleet.fleet.details import TaskDetails
from codefleet.runner import verbs

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

CHANGES_SHOWN = 20
NOTES_SHOWN = 40


class TaskPage(TaskDetails):
    """One task, what belongs to it, and what its agents noted for one another."""

    plan: str
    knowledge: str


async def read(fleet: "Fleet", ref: str) -> TaskPage:
    found, noted = await fleet.details(ref), await verbs.notes(fleet, ref)
    return TaskPage(**asdict(found), plan=noted.plan, knowledge=noted.knowledge)


def draw(page: TaskPage) -> str:
    """The page as text, most important first."""
    parts = (_head, _fields, _around, _work, _notes, _questions, _events)
    return "\n".join(line for part in parts for line in part(page))


def _head(page: TaskPage) -> Iterator[str]:
    task = page.task
    holds = {task.id: page.hold} if page.hold else {}
    yield f"{click.style(task.id, bold=True)}  {clean(task.title)}"
    why = page.hold.text if page.hold else show.reason(task, {})
    word = show.state(show.word(task, holds))
    yield f"{word}: {clean(why)}" if why else word
    for item in page.inbox:
        if item.kind != "review":
            yield f"asks: {clean_lines(item.text)}"
        yield f"  -> {show.settles(item)}"
    for message in page.unread:
        yield f"not read by an agent yet: {brief(message.text)}"


def _fields(page: TaskPage) -> Iterator[str]:
    task = page.task
    spent = sum((run.usage for run in page.runs), start=Usage())
    fields = {
        "repo": task.repo,
        "priority": str(task.priority),
        "labels": ", ".join(task.labels),
        "scope": ", ".join(task.scope),
        "checks": "; ".join(task.checks),
        "complexity": task.complexity,
        "coder": task.coder,
        "model": task.model,
        "fallback": task.fallback,
        "route": task.route,
        "assignee": task.assignee,
        "cost": show.usage(spent) if spent != Usage() else None,
        "budget": told(Limit(name="the task", budget=task.budget or Budget(), spent=spent)),
        "not before": task.not_before and local(task.not_before),
        "attempts": f"{task.attempts} of {task.max_attempts}" if task.max_attempts else None,
        "timeout": task.timeout_s and f"{task.timeout_s:g} s",
        "branch": task.branch,
        "landed": task.landed,
        "added": local(task.created_at),
    }
    yield ""
    yield from (f"{name + ':':<12}{clean(value)}" for name, value in fields.items() if value)
    if task.prompt:
        yield from ("", clean_lines(task.prompt.rstrip()))


def _around(page: TaskPage) -> Iterator[str]:
    for title, tasks in (("needs", page.needs), ("holds up", page.holds_up)):
        if tasks:
            yield from ("", f"{title}:")
            yield from (f"  {t.id}  {show.state(t.state)}  {clean(t.title)}" for t in tasks)


def _work(page: TaskPage) -> Iterator[str]:
    if not page.runs:
        return
    yield from ("", show.runs(page.runs))
    spoken = [run for run in page.runs if run.result]
    if spoken and spoken[-1].result:
        yield from _result(spoken[-1], spoken[-1].result)
    seen = [run for run in page.runs if run.evidence]
    if seen and seen[-1].evidence:
        yield from _evidence(seen[-1], seen[-1].evidence)


def _result(run: Run, result: Result) -> Iterator[str]:
    """What the agent itself reports, which proves nothing."""
    yield from ("", f"result of run {run.number}, by its agent: {result.status}")
    yield from (f"  {line}" for line in clean_lines(result.summary).splitlines())
    if result.tests:
        yield f"  tests: {clean(result.tests)}"
    yield from (f"  next: {clean(step)}" for step in result.next_steps)


def _evidence(run: Run, evidence: Evidence) -> Iterator[str]:
    yield from (
        "",
        f"evidence of run {run.number}: {count(evidence.commits, 'commit')}, "
        f"{count(len(evidence.changes), 'file')} changed",
    )
    for change in evidence.changes[:CHANGES_SHOWN]:
        yield f"  {change.kind:<9} +{change.added} -{change.removed}  {clean(change.path)}"
    if len(evidence.changes) > CHANGES_SHOWN:
        yield f"  and {len(evidence.changes) - CHANGES_SHOWN} more; `fleet diff {run.task} --stat`"
    for warning, paths in (
        ("outside its scope", evidence.outside_scope),
        ("unresolved conflict in", evidence.unresolved),
        ("the main checkout was touched", evidence.checkout_touched),
    ):
        if paths:
            yield click.style(f"  {warning}: {clean(', '.join(paths))}", fg="yellow")
    for check in evidence.checks:
        yield from _check(check)


def _notes(page: TaskPage) -> Iterator[str]:
    """What its agents noted for one another."""
    for title, text in (("plan and status", page.plan), ("knowledge", page.knowledge)):
        lines = clean_lines(text.strip()).splitlines()
        if lines:
            yield from ("", f"{title}:")
            yield from (f"  {line}".rstrip() for line in lines[:NOTES_SHOWN])
        if len(lines) > NOTES_SHOWN:
            yield f"  and {len(lines) - NOTES_SHOWN} more lines; `fleet show {page.task.id} --json`"


def _questions(page: TaskPage) -> Iterator[str]:
    if page.questions:
        yield from ("", "questions:")
    for each in page.questions:
        yield f"  {local(each.asked_at)}  {brief(each.text)}"
        yield f"    -> {brief(each.answer)}" if each.answer else f"    -> {_unanswered(each)}"


def _unanswered(question: Question) -> str:
    return "withdrawn" if question.answered_at else "not answered yet"


def _check(check: Check) -> Iterator[str]:
    verdict = click.style("passed", fg="green") if check.passed else click.style("failed", fg="red")
    yield f"  check {verdict} in {check.seconds:.1f} s: {clean(check.command)}"
    if not check.passed:
        yield from (f"    | {clean(line)}" for line in check.tail.splitlines()[-15:])
        yield f"    | exit code {check.exit_code}; full log: {check.log}"


def _events(page: TaskPage) -> Iterator[str]:
    yield from ("", "last events:")
    for event in page.events:
        yield f"  {local(event.at)}  {event.kind:<15} {brief(event.text)}".rstrip()
