"""When a runner that works until there is nothing left to do ends."""

import asyncio
from datetime import timedelta

import pytest

from codefleet.domain.model import Draft
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from codefleet.runner.context import Context
from codefleet.runner.loop import Loop
from tests.script import script
from tests.stories.conftest import BOUND_S, FLAGS

pytestmark = pytest.mark.slow


class LateLoop(Loop):
    """A runner on a busy machine: a task becomes due between its claim and its look at the rest."""

    async def _turn(self) -> None:
        await super()._turn()
        while not self._attempts and (due := await self.dispatch.next_start()):
            await asyncio.sleep((due - await self.fleet.now()).total_seconds())


async def test_a_task_that_becomes_due_as_the_runner_looks_is_worked_on(fleet: Fleet) -> None:
    soon = await fleet.now() + timedelta(seconds=0.5)
    (task,) = await fleet.add(
        [Draft(title="Greet", prompt=script("write a.txt a"), not_before=soon)]
    )
    async with asyncio.timeout(BOUND_S):
        await LateLoop(Context(fleet, FLAGS), agents=1, until_idle=True).run()
    assert (await fleet.get(task.id)).state is State.COMPLETED
