"""What waits for a human, and the human's decisions: inbox, answer, land, reject, comment."""

from typing import TYPE_CHECKING

import click

from codefleet.domain.model import Task
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, complete_task, json_option, look, say, task_argument
from codefleet.doors.cli.moves import moved
from codefleet.doors.cli.text import count

if TYPE_CHECKING:
    from codefleet.fleet import Fleet


@click.command()
@click.option("--settle", "alert", metavar="ALERT", help="Take this alert out of the inbox.")
@json_option
def inbox(alert: str | None, as_json: bool) -> None:
    """List everything that waits for you: questions, work to review, logins, alerts."""
    if alert is not None:
        _settle(alert, as_json)
        return
    items = look(lambda fleet: fleet.inbox())
    if as_json:
        show.nouns(items)
    elif items:
        show.inbox(items)
    else:
        say("nothing is waiting for you")


def _settle(alert: str, as_json: bool) -> None:
    settled = call(lambda fleet: fleet.settle_alert(alert))
    if as_json:
        show.noun(settled)
    else:
        say(f"{settled.id} is settled")


@click.command()
@click.argument("task", metavar="TASK|QUESTION", shell_complete=complete_task)
@click.argument("words", metavar="TEXT")
@json_option
def answer(task: str, words: str, as_json: bool) -> None:
    """Answer an agent's question; its task continues."""
    moved(call(lambda fleet: fleet.answer(task, words)), "continues", as_json)


@click.command()
@task_argument
@click.option(
    "--commit", metavar="REVISION", help="Land this commit, if you changed the work after its run."
)
@json_option
def land(task: str, commit: str | None, as_json: bool) -> None:
    """Approve reviewed work: it lands next, or at once if no runner is running.

    What lands is the commit that `fleet diff` shows. If its branch has moved since, you are asked
    to look at the difference first.
    """
    landed = call(lambda fleet: land_now_or_next(fleet, task, commit))
    moved(landed, "has landed" if landed.landed else f"lands next{why_not_yet(landed)}", as_json)


async def land_now_or_next(fleet: "Fleet", ref: str, commit: str | None = None) -> Task:
    """Approve work, and land it at once if no runner is there to do it."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    return await verbs.land(Context(fleet), ref, commit)


def why_not_yet(task: Task) -> str:
    """What holds up the landing of approved work, as the end of a sentence."""
    why = f"it is paused until `fleet resume {task.id}`" if task.paused else task.note
    return f", but {why}" if why else ""


@click.command()
@task_argument
@click.argument("why", default="")
@json_option
def reject(task: str, why: str, as_json: bool) -> None:
    """Send work back to an agent, with the reason and all comments on it."""
    moved(call(lambda fleet: fleet.reject(task, why)), "goes back to an agent", as_json)


@click.command()
@task_argument
@click.argument("place", metavar="FILE[:LINE]")
@click.argument("words", metavar="TEXT")
@json_option
def comment(task: str, place: str, words: str, as_json: bool) -> None:
    """Comment on a line of work in review; `fleet reject` sends all comments to the agent."""
    path, _, line = place.rpartition(":")
    if not (path and line.isdecimal()):
        path, line = place, "0"
    review = call(lambda fleet: fleet.comment(task, words, path, int(line)))
    if as_json:
        show.noun(review)
    else:
        say(f"{review.task} has {count(len(review.comments), 'comment')}")
