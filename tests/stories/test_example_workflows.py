"""Every file in examples/workflows runs unchanged, with scripted agents replacing others."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from codefleet.domain.views import WorkflowStatus
from codefleet.domain.words import Reason, State
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.results import StageStatus
from codefleet.fleet import Fleet
from tests.gitrepo import SampleRepo, make_repo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "workflows"
WORK = "append work.txt done\nresult completed Did the work."
FINE = "result completed_no_changes It is fine."


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    made = {"README.md": "A shop.\n", "Makefile": "test:\n\ttest ! -e broken\n"}
    return make_repo(tmp_path / "shop", made)


async def run(fleet: Fleet, crew: Crew, name: str, **scripts: str) -> WorkflowStatus:
    """Start an example and work until nothing more happens by itself."""
    file = EXAMPLES / name
    read: Any = json.loads if file.suffix == ".json" else yaml.safe_load
    said = workflow.replaced(read(file.read_text()), [("executor", "scripted")])
    plan = workflow.parse(said)
    flow = await fleet.start(plan.evolve(prompt=plan.prompt or "Paint the shop"))
    await work(crew, **scripts)
    return await fleet.workflow(flow.id)


async def work(crew: Crew, **scripts: str) -> None:
    options = {"scripted": {"scripts": {"*": WORK, "review": FINE, **scripts}}}
    await crew.work(agents=3, attempts=1, coders=options)


async def statuses(fleet: Fleet, stands: WorkflowStatus) -> list[StageStatus | None]:
    collected = await fleet.collect_workflow(stands.workflow.id, every=True)
    return [each.status for each in collected.results]


def test_every_example_is_run_here() -> None:
    assert {file.name for file in EXAMPLES.iterdir()} == {
        "competitive.json",
        "human-gate.yaml",
        "parallel-fan-out.json",
        "tournament.yaml",
        "until-green.yaml",
        "write-review-refine.json",
    }


async def test_write_review_refine(fleet: Fleet, repo: SampleRepo, crew: Crew) -> None:
    stands = await run(fleet, crew, "write-review-refine.json")
    assert stands.state is State.COMPLETED
    (final,) = (await fleet.collect_workflow(stands.workflow.id)).results
    assert (final.stage, final.status, final.files) == ("refine", "completed", ("work.txt",))
    assert repo.read(str(final.branch), "work.txt") == "done\ndone\n"


@pytest.mark.parametrize("name", ["parallel-fan-out.json", "competitive.json"])
async def test_agents_side_by_side_and_one_that_looks_at_their_work(
    fleet: Fleet, crew: Crew, name: str
) -> None:
    stands = await run(fleet, crew, name, evaluate=FINE)
    assert await statuses(fleet, stands) == ["completed", "completed", "completed_no_changes"]
    last = stands.tasks[2]
    told = (fleet.home / "runs" / f"{last.id}.1" / "prompt.md").read_text()
    assert "A: Did the work.\nB: Did the work." in told


async def test_a_tournament_is_won_by_checks_first_and_a_judge_among_the_survivors(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    pick = json.dumps({"status": "completed", "choice": "codex-attempt"})
    red = f"write broken.txt x\nwrite broken x\n{WORK}"
    best = f"write best.txt best\n{WORK}"
    scripts = {"gemini-attempt": red, "codex-attempt": best, "judge": f"result {pick}"}
    stands = await run(fleet, crew, "tournament.yaml", **scripts)
    assert await statuses(fleet, stands) == ["completed", "completed", "failed", "completed"]
    assert stands.tasks[2].reason is Reason.CHECKS_FAILED
    assert repo.read("main", "best.txt") == "best\n"


async def test_until_green_tries_again_until_the_checks_pass(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    fix = "write broken x\non attempt 2\nsay still red\nwrite work.txt x\non attempt 3\n"
    fix += "delete broken\nresult completed Mended it."
    stands = await run(fleet, crew, "until-green.yaml", fix=fix, explain="write CHANGES.md {{x}}")
    assert stands.state is State.COMPLETED
    runs = await fleet.runs_of(stands.tasks[0].id)
    assert [each.reason for each in runs] == [Reason.CHECKS_FAILED, Reason.CHECKS_FAILED, None]
    assert "CHANGES.md" in repo.git("ls-tree", "--name-only", "main").split()


async def test_a_human_gate_lands_what_a_human_approves(
    fleet: Fleet, repo: SampleRepo, crew: Crew
) -> None:
    stands = await run(fleet, crew, "human-gate.yaml")
    assert stands.state is State.ASKING
    (item,) = await fleet.inbox()
    assert item.text.startswith("Shall this land? work.txt\n")
    await fleet.answer(item.id, "approve")
    await work(crew)
    assert (await fleet.workflow(stands.workflow.id)).state is State.COMPLETED
    assert repo.read("main", "work.txt") == "done\n"
