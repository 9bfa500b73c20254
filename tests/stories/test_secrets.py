"""A key that an agent prints is stored nowhere."""

import json
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import tomlkit

from codefleet.domain.model import Draft, Task
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from codefleet.wiring import open_fleet
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]

KEY = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6"
GIVEN = "not-like-any-key-at-all"
AGENT = """
import json, os, pathlib, sys
key = pathlib.Path(sys.argv[1]).read_text() + " and " + os.environ["SHOP_TOKEN"]
sys.stdin.read()
def tell(**fields): print(json.dumps(fields), flush=True)
tell(type="said", text=f"I found {key}")
tell(type="said", text="x" * 3979 + " " + key)
tell(type="tool", name="shell", detail=f"login {key}")
print(f"plain words: {key}")
print(f"error: {key}", file=sys.stderr)
notes = pathlib.Path(os.environ["FLEET_NOTES"])
(notes / "KNOWLEDGE.md").write_text(f"The key is {key}.")
how = sys.argv[2]
if how == "works":
    pathlib.Path("a.txt").write_text("a")
    said = {"status": "completed", "summary": f"used {key}", "next_steps": [f"drop {key}"]}
    (notes / "result.json").write_text(json.dumps(said))
    tell(type="finished", text=f"done with {key}")
elif how == "asks":
    with (notes / "Q&A.md").open("a") as file:
        file.write(f"\\n## Question\\n\\nIs it {key}?\\n\\n- {key}\\n- no\\n")
    tell(type="finished", text="asked")
elif how == "refused":
    tell(type="broke", reason="auth", text=f"the provider refuses {key}")
else:
    sys.exit(3)
"""


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key.txt"
    file.write_text(KEY)
    (tmp_path / "agent.py").write_text(AGENT)
    return file


def holds_a_key(home: Path) -> Iterator[str]:
    """Every file below the home whose bytes contain one of the keys, or part of it."""
    for file in home.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        if KEY[4:16].encode() in data or KEY[:12].encode() in data or GIVEN[:15].encode() in data:
            yield str(file.relative_to(home))


async def play(fleet: Fleet, crew: Crew, key_file: Path, how: str, check: str = "true") -> Task:
    agent = [sys.executable, str(key_file.with_name("agent.py")), str(key_file), how]
    settings = {
        "coder": "command",
        "environment": ["SHOP_TOKEN"],
        "setup": f"cat {key_file}",
        "checks": [check],
        "coders": {"command": {"argv": agent}},
    }
    (fleet.home / "fleet.toml").write_text(tomlkit.dumps(settings))
    [task] = await fleet.add([Draft(title="Use the key", max_attempts=1)])
    await crew.work()
    return await fleet.get(task.id)


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", GIVEN)


async def test_a_run_that_works_leaves_no_key(fleet: Fleet, crew: Crew, key_file: Path) -> None:
    task = await play(fleet, crew, key_file, "works", check=f"cat {key_file}")
    assert task.state is State.COMPLETED
    [run] = await fleet.runs_of(task.id)
    assert run.result
    assert run.result.summary.startswith("used [redacted")
    assert run.said.startswith("done with [redacted")
    folder = fleet.home / "runs" / run.id
    assert (folder / "stdout.jsonl").stat().st_size == run.offset
    lines = (folder / "stdout.jsonl").read_text().splitlines()
    assert sum(bool(json.loads(line)) for line in lines if line.startswith("{")) == 4
    assert "[redacted" in (folder / "stderr.log").read_text()
    assert "[redacted" in (folder / "setup.log").read_text()
    assert "[redacted" in (folder / "evidence" / "check-1.log").read_text()
    assert list(holds_a_key(fleet.home)) == []


async def test_a_failed_run_and_a_red_check_leave_no_key(
    fleet: Fleet, crew: Crew, key_file: Path
) -> None:
    crashed = await play(fleet, crew, key_file, "crashes")
    assert (crashed.reason, "error: [redacted" in crashed.note) == (Reason.CRASHED, True)
    red = await play(fleet, crew, key_file, "works", check=f"grep -H ghp {key_file} nowhere")
    assert (red.reason, "[redacted" in red.note) == (Reason.CHECKS_FAILED, True)
    assert list(holds_a_key(fleet.home)) == []


async def test_a_refusal_that_names_the_key_leaves_none_for_the_next_agent(
    fleet: Fleet, crew: Crew, key_file: Path
) -> None:
    task = await play(fleet, crew, key_file, "refused")
    assert (task.reason, task.state) == (Reason.AUTH, State.PENDING)
    [run] = await fleet.runs_of(task.id)
    checkpoint = (fleet.home / "runs" / run.id / "checkpoint.md").read_text()
    assert "the provider refuses [redacted" in checkpoint
    [rest] = await fleet.rests()
    assert "[redacted" in rest.note
    assert list(holds_a_key(fleet.home)) == []


async def test_a_program_that_cannot_be_started_is_told_without_its_key(
    fleet: Fleet, crew: Crew
) -> None:
    options = {"argv": [f"/nowhere/{KEY}"]}
    settings = {"coder": "command", "coders": {"command": options}}
    (fleet.home / "fleet.toml").write_text(tomlkit.dumps(settings))
    [task] = await fleet.add([Draft(title="Start")])
    await crew.work()
    failed = await fleet.get(task.id)
    assert (failed.reason, KEY in failed.note) == (Reason.CODER_MISSING, False)
    assert "/nowhere/[redacted" in failed.note


async def test_a_question_leaves_no_key(fleet: Fleet, crew: Crew, key_file: Path) -> None:
    task = await play(fleet, crew, key_file, "asks")
    [run] = await fleet.runs_of(task.id)
    assert run.outcome is Outcome.ASKED
    [item] = await fleet.inbox()
    assert item.text.startswith("Is it [redacted")
    assert list(holds_a_key(fleet.home)) == []


async def test_no_key_is_in_the_store_when_it_is_opened_again(
    fleet: Fleet, crew: Crew, key_file: Path, home: Path
) -> None:
    await play(fleet, crew, key_file, "works")
    async with open_fleet(home) as again:
        rows = [row async for row in again.core.store.export()]
    assert KEY not in str(rows)
    assert GIVEN not in str(rows)
    assert "[redacted" in str(rows)


@pytest.mark.parametrize("ends_with_it", [True, False])
async def test_work_with_a_known_value_in_any_commit_waits_for_a_human(
    ends_with_it: bool,
    fleet: Fleet,
    repo: SampleRepo,
    crew: Crew,
    add: Add,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE", "a-plain-value-of-a-plain-name")
    (fleet.home / "fleet.toml").write_text('environment = ["DATABASE"]\n')
    commit = "git add -A && git -c user.name=a -c user.email=a@b commit --quiet -m more"
    after = [] if ends_with_it else [f"shell rm a.txt && {commit}"]
    task = await add("Leak", "write b.txt b", f"shell echo $DATABASE > a.txt && {commit}", *after)
    other = await add("Work", "write c.txt c")
    await crew.work()
    assert (await fleet.get(other.id)).state is State.COMPLETED
    assert (await fleet.get(task.id)).state is State.REVIEW
    [item] = await fleet.inbox()
    assert (item.task, "the value of DATABASE" in item.text) == (task.id, True)
    assert "a-plain-value" not in item.text
    await fleet.land(task.id)
    await crew.work()
    assert repo.read("main", "b.txt") == "b\n"


async def test_a_listed_value_is_nowhere_whatever_its_name_and_colours(
    fleet: Fleet, crew: Crew, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE", GIVEN)
    (fleet.home / "fleet.toml").write_text('environment = ["DATABASE"]\n')
    half = len(GIVEN) // 2
    parts = f"{GIVEN[:half]}", f"{GIVEN[half:]}"
    show = f"printf '{parts[0]}\\033[31m{parts[1]}\\n'; echo $DATABASE; exit 1"
    task = await add("Show", "write a.txt a", checks=[f"sh -c {shlex.quote(show)}"], max_attempts=1)
    await crew.work()
    log = next((fleet.home / "runs").glob(f"{task.id}.1/evidence/*.log")).read_bytes()
    assert parts[0].encode() not in log
    assert parts[1].encode() not in log
    assert b"\x1b[31m" in log
