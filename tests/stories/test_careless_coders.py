"""A coder may be anybody's plug-in: what it reports wrongly affects only its own run."""

from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import EntryPoint, EntryPoints, entry_points

import pytest

from codefleet.coders import registry
from codefleet.coders.scripted import Scripted
from codefleet.domain.model import Task, Usage
from codefleet.domain.signals import Said, Signal, Used
from codefleet.domain.words import State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]


class Careless(Scripted):
    """Reports no number where there should be one."""

    name = "careless"

    def read(self, line: str) -> Iterator[Signal]:
        for signal in super().read(line):
            yield Used(Usage(cost_usd=float("nan"))) if isinstance(signal, Said) else signal


careless = Careless()


@pytest.fixture
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    mine = EntryPoint("careless", f"{__name__}:careless", registry.GROUP)
    every = EntryPoints([*entry_points(group=registry.GROUP), mine])
    monkeypatch.setattr(registry, "entry_points", lambda **by: every.select(**by))
    yield
    registry.coder.cache_clear()


@pytest.mark.usefixtures("plugged_in")
async def test_what_a_careless_coder_tells_costs_its_run_and_poisons_no_row(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add
) -> None:
    wrong = await add("Speak", "write a.txt x", "say hello", coder="careless", max_attempts=1)
    good = await add("Work", "write b.txt x", "say hello")
    await crew.work()
    assert (await fleet.get(good.id)).state is State.COMPLETED
    task = await fleet.get(wrong.id)
    assert task.state is State.FAILED
    assert "the coder careless produced an invalid signal" in task.note
    (run,) = await fleet.runs_of(wrong.id)
    assert run.usage == Usage()
