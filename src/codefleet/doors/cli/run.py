"""Work the queue."""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from codefleet.domain.errors import NEEDS_HUMAN
from codefleet.domain.views import Left
from codefleet.domain.words import State
from codefleet.doors.cli import kinds, show
from codefleet.doors.cli.call import call, coder_exists, home, say
from codefleet.doors.cli.text import count
from codefleet.ports import TaskQuery

if TYPE_CHECKING:
    from codefleet.fleet import Fleet
    from codefleet.runner.loop import Loop

LEFT_SHOWN = 20


@click.command()
@click.option(
    "--agents",
    type=kinds.seats,
    metavar="N|MIN..MAX",
    help="How many agents work at once; within a range, as many as the queue needs.",
)
@click.option("--coder", help="Take only tasks for this agent program, or for any.")
@click.option("--until-idle", is_flag=True, help="Exit when there is nothing left to do.")
def run(agents: tuple[int | None, int] | None, coder: str | None, until_idle: bool) -> None:
    """Work through the queue with a number of agents.

    Ctrl-C stops gracefully: agents are asked to stop and their work is kept. Ctrl-C again stops at
    once. Closing the terminal also stops it, unless it runs under nohup.
    With --until-idle, it finally reports what is left and why. The exit code is then 1 if a task
    failed for good, or else 8 if a task needs you before it can continue.
    """
    if coder is not None:
        coder_exists(coder)

    async def work(fleet: "Fleet") -> int:
        from codefleet.doors.agent_tools import offered
        from codefleet.doors.cli.watch import watching
        from codefleet.runner.context import Context
        from codefleet.runner.loop import Loop

        least, most = agents or (None, None)
        context = Context(fleet, {"agents": most, "coder": coder})
        loop = Loop(context, agents=most, least=least, coder=coder, until_idle=until_idle)
        began = await fleet.last_seq()
        if coder:
            await _say_who_is_skipped(fleet, coder)
        async with offered(context), watching(home()) as view:
            loop.tell = view.tell
            stopped = heed_signals(loop, view.tell)
            await loop.run()
        left = await fleet.left() if until_idle and not stopped else ()
        _say_what_is_left(left)
        failed = await fleet.failed_since(began)
        if failed:
            say(f"{failed} {'tasks' if failed > 1 else 'task'} failed; `fleet list` shows why")
        if stopped:
            return 128 + stopped[0]
        if until_idle and failed:
            return 1
        return NEEDS_HUMAN if any(each.needs_human for each in left) else 0

    click.get_current_context().exit(call(work))


async def _say_who_is_skipped(fleet: "Fleet", coder: str) -> None:
    """Report the tasks for other agent programs, which stay in the queue."""
    pending = await fleet.list(TaskQuery(states=[State.PENDING]))
    skipped = Counter(task.coder for task in pending if task.coder and task.coder != coder)
    if skipped:
        named = ", ".join(f"{number} for {name}" for name, number in sorted(skipped.items()))
        say(f"skipping {count(skipped.total(), 'task')} for other agent programs: {named}")


def _say_what_is_left(left: Sequence[Left]) -> None:
    """Report what is left, why, and the commands that resolve it."""
    if left:
        say(f"{count(len(left), 'task')} left:")
    for each in left[:LEFT_SHOWN]:
        say(show.left(each))
    if len(left) > LEFT_SHOWN:
        say(f"and {len(left) - LEFT_SHOWN} more; `fleet list` shows them")


def heed_signals(loop: "Loop", tell: Callable[[str], None]) -> list[int]:
    """Stop gracefully on the first signal and at once on the next; returns those received."""
    came: list[int] = []

    def stop(number: int) -> None:
        came.append(number)
        loop.stop(firm=len(came) > 1)  # before the message: nobody may be there to read it
        if len(came) == 1:
            tell("stopping gracefully; again stops at once")

    heeded = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
        heeded.append(signal.SIGHUP)
    for number in heeded:
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return came
