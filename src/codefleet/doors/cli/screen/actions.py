"""What each key does to the selection: one verb of the core, offered only while allowed."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol, TypeVar

from textual.screen import Screen

from codefleet.domain.board import Board, Need
from codefleet.domain.lifecycle import Verb, allowed
from codefleet.domain.model import Task
from codefleet.domain.permissions import ANSWERS
from codefleet.doors.cli.inbox import land_now_or_next, why_not_yet
from codefleet.doors.cli.screen.dialogs import Ask, Confirm
from codefleet.doors.cli.screen.pages import DiffPage, TaskPage
from codefleet.fleet import Fleet

T = TypeVar("T")
ASKED = ("question", "permission")


class Target(NamedTuple):
    """The selection: a task, something that needs a human, or both."""

    task_id: str = ""
    task: Task | None = None
    need: Need | None = None

    def allows(self, verb: Verb) -> bool:
        return self.task is not None and verb in allowed(self.task)


class Asker(Protocol):
    """Where an action asks its questions and shows its pages."""

    fleet: Fleet

    async def ask(self, screen: Screen[T]) -> T | None: ...

    def open(self, page: Screen[None]) -> None: ...


class Action(NamedTuple):
    """A key, its label, when it is offered, and what it does; it returns a message."""

    key: str
    word: str
    offered: Callable[[Target], bool]
    do: Callable[[Asker, Target], Awaitable[str]]


def target_of(board: Board, key: str) -> Target:
    """The target that a row of the board stands for."""
    kind, _, ref = key.partition(":")
    if kind == "need":
        need = next((need for need in board.needs if need.ref == ref), None)
        task = need.task if need else None
        return Target(task.id if task else "", task, need)
    tasks = [
        *(each.task for each in board.working),
        *board.lane,
        *(each.task for each in board.next_up),
    ]
    task = next((task for task in tasks if task.id == ref), None)
    asked = next((need for need in board.needs if need.task and need.task.id == ref), None)
    return Target(ref, task, asked)


def first_asked(board: Board) -> Target:
    """What has waited longest for an answer."""
    needs = (need for need in board.needs if need.kind in ASKED)
    return next((Target(n.task.id if n.task else "", n.task, n) for n in needs), Target())


async def open_(to: Asker, target: Target) -> str:
    to.open(TaskPage(to.fleet, target.task_id))
    return ""


async def diff(to: Asker, target: Target) -> str:
    to.open(DiffPage(to.fleet, target.task_id))
    return ""


async def answer(to: Asker, target: Target) -> str:
    assert target.need
    need = target.need
    options = need.options or (tuple(ANSWERS) if need.kind == "permission" else ())
    title = f"Answer {target.task_id}" + (f": {target.task.title}" if target.task else "")
    words = await to.ask(Ask(title, need.text, options))
    if words is None:
        return ""
    await to.fleet.answer(need.ref, words)
    return f"{target.task_id} continues"


async def land(to: Asker, target: Target) -> str:
    task = await land_now_or_next(to.fleet, target.task_id)
    return f"{task.id} has landed" if task.landed else f"{task.id} lands next{why_not_yet(task)}"


async def reject(to: Asker, target: Target) -> str:
    why = await to.ask(Ask(f"Reject {_named(target)}", "What should the agent change?"))
    if why is None:
        return ""
    await to.fleet.reject(target.task_id, why)
    return f"{target.task_id} goes back to an agent"


async def cancel(to: Asker, target: Target) -> str:
    about = "Its agent is stopped. Its work is kept on an archive branch."
    if not await to.ask(Confirm(f"Cancel {_named(target)}?", about)):
        return ""
    await to.fleet.cancel(target.task_id)
    return f"{target.task_id} is cancelled"


async def retry(to: Asker, target: Target) -> str:
    await to.fleet.retry(target.task_id)
    return f"{target.task_id} is back in the queue"


async def send(to: Asker, target: Target) -> str:
    words = await to.ask(Ask(f"Message the agent of {_named(target)}"))
    if words is None:
        return ""
    message = await to.fleet.send(target.task_id, words)
    if message.run:
        return f"{message.agent} gets it now"
    return f"the next run of {target.task_id} gets it"


async def pause(to: Asker, target: Target) -> str:
    await to.fleet.pause(target.task_id)
    return f"{target.task_id} is paused"


async def resume(to: Asker, target: Target) -> str:
    await to.fleet.resume(target.task_id)
    return f"{target.task_id} may start again"


async def wake(to: Asker, target: Target) -> str:
    assert target.need
    rest = await to.fleet.wake(target.need.ref)
    return f"{rest.account} can be used again"


def _named(target: Target) -> str:
    return f"{target.task_id}: {target.task.title}" if target.task else target.task_id


def asks(target: Target) -> bool:
    """Does it wait for an answer?"""
    return target.need is not None and target.need.kind in ASKED


def _is_unfinished(target: Target) -> bool:
    return target.task is not None and not target.task.state.is_final


def _may_have_work(target: Target) -> bool:
    return bool(target.task_id) and (target.task is None or target.task.runs > 0)


def _is_account(target: Target) -> bool:
    return target.need is not None and target.need.kind == "account"


ACTIONS = (
    Action("enter", "open", lambda it: bool(it.task_id), open_),
    Action("a", "answer", asks, answer),
    Action("l", "land", lambda it: it.allows(Verb.LAND), land),
    Action("r", "reject", lambda it: it.allows(Verb.REJECT), reject),
    Action("w", "wake", _is_account, wake),
    Action("t", "retry", lambda it: it.allows(Verb.RETRY), retry),
    Action("d", "diff", _may_have_work, diff),
    Action("s", "send", _is_unfinished, send),
    Action("p", "pause", lambda it: it.allows(Verb.PAUSE), pause),
    Action("p", "resume", lambda it: it.allows(Verb.RESUME), resume),
    Action("c", "cancel", lambda it: it.allows(Verb.CANCEL), cancel),
)


def offered(target: Target) -> list[Action]:
    """The actions that the selection allows."""
    return [action for action in ACTIONS if action.offered(target)]
