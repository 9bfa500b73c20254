"""Work the queue."""

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from codefleet.doors.cli import kinds
from codefleet.doors.cli.call import call, coder_exists, home, say

if TYPE_CHECKING:
    from codefleet.fleet import Fleet
    from codefleet.runner.loop import Loop


@click.command()
@click.option(
    "--agents",
    type=kinds.seats,
    metavar="N|LEAST..MOST",
    help="How many agents work at once; between two numbers, as many as the queue needs.",
)
@click.option("--coder", help="Take only tasks for this agent program, or for none.")
@click.option("--until-idle", is_flag=True, help="End when there is nothing left to do.")
def run(agents: tuple[int | None, int] | None, coder: str | None, until_idle: bool) -> None:
    """Work the queue with a number of agents.

    Ctrl-C stops gently: agents are asked to end and their work is kept. Ctrl-C again stops at once.
    So does closing the terminal, unless nohup holds it off.
    With --until-idle the exit code is 1 when a task failed for good.
    """
    if coder is not None:
        coder_exists(coder)

    async def work(fleet: "Fleet") -> int:
        from codefleet.doors.cli.watch import watching
        from codefleet.runner.desk import Desk
        from codefleet.runner.loop import Loop

        least, most = agents or (None, None)
        desk = Desk(fleet, {"agents": most, "coder": coder})
        loop = Loop(desk, agents=most, least=least, coder=coder, until_idle=until_idle)
        began = await fleet.last_seq()
        async with watching(home()) as view:
            loop.tell = view.tell
            stopped = heed_signals(loop, view.tell)
            await loop.run()
        failed = len(await fleet.events(after=began, kinds=["task.failed"]))
        if failed:
            say(f"{failed} {'tasks' if failed > 1 else 'task'} failed; `fleet list` shows why")
        return 128 + stopped[0] if stopped else int(until_idle and failed > 0)

    click.get_current_context().exit(call(work))


def heed_signals(loop: "Loop", tell: Callable[[str], None]) -> list[int]:
    """The first signal stops the runner gently, the next one firmly; returns those that came."""
    came: list[int] = []

    def stop(number: int) -> None:
        came.append(number)
        loop.stop(firm=len(came) > 1)  # before the words: nobody may be there to read them
        if len(came) == 1:
            tell("stopping gently; once more stops at once")

    heeded = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
        heeded.append(signal.SIGHUP)
    for number in heeded:
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return came
