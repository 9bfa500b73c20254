"""What an agent is told: the task, the rules, and what earlier attempts ran into."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from codefleet.domain.model import Message, Question, Reason, Run, Task
from codefleet.domain.policy import Answer, answer_in


class Story(NamedTuple):
    """Everything an agent should know when it starts."""

    task: Task
    earlier: Sequence[Run] = ()
    answers: Sequence[Question] = ()
    conflicts: Sequence[str] = ()
    checks: Sequence[str] = ()
    trunk: str = "main"
    collisions: Sequence[tuple[str, Sequence[str]]] = ()
    messages: Sequence[Message] = ()
    checkpoint: str = ""


def compose(story: Story) -> str:
    """The prompt, as Markdown. Text of humans and of other programs is quoted as data."""
    return "\n\n".join(part for part in _parts(story) if part) + "\n"


def _parts(story: Story) -> Iterator[str]:
    task = story.task
    yield f"# {task.title}"
    yield task.prompt
    if task.scope:
        yield "Change only files in this scope: " + ", ".join(f"`{glob}`" for glob in task.scope)
    if story.checks:
        listed = "\n".join(f"- `{check}`" for check in story.checks)
        yield f"Your work counts when these commands succeed in this folder:\n{listed}"
    yield from _history(story)
    yield (
        "You work in a git worktree of your own. Commit there if you like; what you leave "
        "uncommitted is committed for you. Do not push, and do not change other branches."
    )


def _history(story: Story) -> Iterator[str]:
    if story.conflicts:
        files = "\n".join(f"- {path}" for path in story.conflicts)
        yield (
            f"Your earlier work collides with what is now on `{story.trunk}`. The merge is begun "
            f"here; resolve the conflict markers in these files:\n{files}"
        )
    for other, paths in story.collisions:
        yield f"Another agent ({other}) changes the same lines of: {', '.join(paths)}"
    if story.task.note and story.earlier and story.task.reason is not Reason.MERGE_CONFLICT:
        yield f"What the last attempt ran into:\n{quoted(story.task.note)}"
    if story.checkpoint:
        yield (
            "You go on where another agent was stopped; its work is in this folder. What it left "
            f"for you:\n{quoted(story.checkpoint)}"
        )
    for question in story.answers:
        yield _permission(question) if question.tool else _answered(question)
    for message in story.messages:
        yield note(message)


def note(message: Message) -> str:
    """A human's words to an agent, in its prompt or while it runs."""
    return f"A human who watches over your work says to you:\n{fenced(message.text, 'message')}"


def _answered(question: Question) -> str:
    return f"You asked:\n{quoted(question.text)}\n\nThe answer:\n{fenced(question.answer or '')}"


def _permission(question: Question) -> str:
    wanted = f"You wanted to use {question.tool}:\n{quoted(question.detail)}"
    said = fenced(question.answer or "")
    if answer_in(question.answer or "") is Answer.DENY:
        return f"{wanted}\n\nThis was denied. Find another way, or go on without it:\n{said}"
    return f"{wanted}\n\nThis was allowed. You were stopped meanwhile, so do it again now:\n{said}"


def fenced(text: str, mark: str = "answer") -> str:
    """Text as a block that nothing inside it can end."""
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{mark}\n{text}\n{fence}"


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])
