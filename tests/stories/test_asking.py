"""An agent that asks during its turn waits for the answer, and is not taken for dead."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codefleet.domain.model import Question, Task
from codefleet.domain.words import Outcome, State
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

CLIENT = """\
import asyncio, os, sys
from pathlib import Path
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from codefleet.runner.brief.own_tools import call

HOME, PATIENCE = Path(sys.argv[1]), float(sys.argv[2])
program, *args = call(HOME, Path(os.environ["FLEET_TOKEN_FILE"]))


async def main():
    server = StdioServerParameters(command=program, args=args)
    async with Client(stdio_client(server)) as client:
        asked = {"question": "Which port?"}
        try:
            told = await client.call_tool("ask_human", asked, read_timeout_seconds=PATIENCE)
        except Exception:
            return
        Path("port.txt").write_text(told.structured_content["answer"])


asyncio.run(main())
"""


@pytest.fixture
def asking(home: Path, tmp_path: Path) -> Callable[[float], str]:
    """A step of a script: ask through the run's own tools, and wait this many seconds."""
    file = tmp_path / "client.py"
    file.write_text(CLIENT)
    return lambda patience: f"shell {sys.executable} {file} {home} {patience}"


async def test_an_agent_waits_for_its_answer_as_long_as_it_takes_and_goes_on_in_its_turn(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, asking: Callable[[float], str]
) -> None:
    task = await add("Serve", asking(60), timeout_s=12)

    async def waited_long() -> bool:
        asked = await fleet.core.store.records(Question, open_only=True)
        return (
            bool(asked) and (await fleet.core.store.now() - asked[0].asked_at).total_seconds() > 13
        )

    async def answered_and_done() -> bool:
        if await waited_long():
            await fleet.answer(task.id, "443")
        return (await fleet.get(task.id)).state.is_final

    loop = crew.loop(quiet_s=0.2, stuck_s=3.0, tool_s=3.0, grace_s=1.0)
    await crew.until(loop, answered_and_done)
    [run] = await fleet.runs_of(task.id)
    assert (run.outcome, run.note) == (Outcome.SUBMITTED, "")
    assert repo.read("main", "port.txt") == "443"


async def test_the_answer_to_a_call_that_was_given_up_comes_with_the_next_run(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, asking: Callable[[float], str]
) -> None:
    task = await add("Serve", asking(1.5), "write done.txt yes")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.ASKING
    [item] = await fleet.inbox()
    assert item.text == "Which port?"
    await fleet.answer(task.id, "443")
    await crew.work()
    first, second = await fleet.runs_of(task.id)
    assert (first.outcome, second.outcome) == (Outcome.ASKED, Outcome.SUBMITTED)
    prompt = (fleet.home / "runs" / second.id / "prompt.md").read_text()
    assert "Which port?" in prompt
    assert "443" in prompt
