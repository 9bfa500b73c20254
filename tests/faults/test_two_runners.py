"""Two runners in two processes on one store share the work and never do anything twice."""

from collections import Counter

import pytest

from codefleet.domain.model import Draft
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.faults.conftest import Runners, landed_tasks
from tests.gitrepo import SampleRepo
from tests.script import script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TASKS = 500


async def test_two_runners_share_five_hundred_instant_tasks_fairly(
    fleet: Fleet, repo: SampleRepo, runners: Runners
) -> None:
    drafts = [
        Draft(title=f"Instant {number}", prompt=script(f"write n/{number}.txt {number}"))
        for number in range(TASKS)
    ]
    tasks = await fleet.add(drafts)
    both = [runners.start(agents=2), runners.start(agents=2)]
    for runner in both:
        await runners.finished(runner, within_s=550)
    assert (await fleet.core.store.counts()) == {State.COMPLETED: TASKS}
    assert Counter(landed_tasks(repo)) == Counter(task.id for task in tasks)
    runs = await fleet.core.store.runs(tasks=[task.id for task in tasks])
    assert len(runs) == TASKS
    shares = Counter(run.runner for run in runs)
    assert len(shares) == 2
    assert min(shares.values()) >= TASKS / 3
