"""Whether runner or keeper dies: agents are found again, one per folder, and none is left."""

import asyncio
import fcntl
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from codefleet.coder import Start
from codefleet.runner.git.slot_lock import SlotLock
from codefleet.runner.process import custody
from codefleet.runner.process.custody import AgentProcess, Exit, Process
from tests.runner.yard import BOUND_S, HOLD, Yard, ended


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    made = Yard(tmp_path)
    yield made
    await made.clear()


async def test_an_agent_outlives_its_runner_and_the_next_one_adopts_it(yard: Yard) -> None:
    folder = yard.folder("t.1")
    kill_a_runner_that_started(folder, yard)
    kept = await custody.adopt(folder)
    assert kept is not None
    assert kept.agent.is_alive
    before, offset = kept.lines(0)
    yard.go()
    assert await ended(kept) == Exit(code=7)
    after, _ = kept.lines(offset)
    assert before + after == ["before", "after"]


def kill_a_runner_that_started(folder: Path, yard: Yard) -> None:
    argv = [sys.executable, "-c", RUNNER, str(folder), str(yard.work), yard.tag("t.1"), HOLD]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as runner:
        assert runner.stdout
        assert runner.stdout.readline() == b"started\n"
        runner.kill()


RUNNER = """
import asyncio, os, sys
from pathlib import Path
from codefleet.coder import Start
from codefleet.runner.process import custody

folder, work, tag, hold = sys.argv[1:]

async def main():
    argv = ["sh", "-c", f"echo before; {hold}; echo after; exit 7"]
    await custody.start(Path(folder), Start(argv=argv), cwd=Path(work), env=dict(os.environ),
                        run_id=tag, grace_s=1)
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_keeper_holds_the_lock_of_its_worktree_for_as_long_as_its_agent_lives(
    yard: Yard, tmp_path: Path
) -> None:
    file = tmp_path / "slot.lock"
    lock = SlotLock.take(file)
    assert lock
    kept = await yard.begin(Start(argv=["sh", "-c", HOLD]), lock=lock.handle)
    lock.close()
    assert SlotLock.take(file) is None
    yard.go()
    await ended(kept)
    again = SlotLock.take(file)
    assert again
    again.close()


async def test_a_killed_keeper_is_told_as_lost_and_a_sweep_ends_the_rest(yard: Yard) -> None:
    kept = await yard.shell(f"setsid sleep 600 & touch ready; {HOLD}")
    await yard.has("ready")
    kept.keeper.send(signal.SIGKILL)
    assert await ended(kept) == Exit(lost=True)
    assert kept.agent.is_alive
    assert yard.left() >= 2
    assert not kept.agent.is_alive
    assert yard.left() == 0
    again = await custody.adopt(kept.folder)
    assert again == kept
    assert await ended(again) == Exit(lost=True)


@pytest.mark.linux
async def test_a_sweep_finds_what_shed_its_environment_its_session_and_its_parent(
    yard: Yard,
) -> None:
    orphan = 'echo $$ > "$0.new"; mv "$0.new" "$0"; cd /; exec sleep 600'
    hide = f"env -i setsid sh -c {shlex.quote(orphan)} $PWD/orphan & "
    kept = await yard.shell(f"({hide}); kill -9 $PPID")
    assert await ended(kept) == Exit(lost=True)
    await yard.has("orphan")
    escaped = Process.find(int((yard.work / "orphan").read_text()))
    assert escaped
    yard.left()
    assert not escaped.is_alive


async def test_a_sweep_leaves_other_runs_alone(yard: Yard) -> None:
    one = await yard.shell("exec sleep 600", run="t.1")
    other = await yard.shell("exec sleep 600", run="t.10")
    assert yard.left("t.1") >= 1
    assert other.agent.is_alive
    assert (await ended(one)).signal == signal.SIGKILL


async def test_an_adopted_agent_that_has_ended_gives_its_record_at_once(yard: Yard) -> None:
    kept = await yard.shell("exit 4")
    await ended(kept)
    adopted = await custody.adopt(kept.folder)
    assert adopted == kept
    assert await ended(adopted) == Exit(code=4)


async def test_a_folder_gets_one_agent_however_often_it_is_started(yard: Yard) -> None:
    script = f"echo here; {HOLD}"
    first, *others = await asyncio.gather(*(yard.shell(script) for _ in range(8)))
    assert set(others) == {first}
    assert await yard.shell(script) == first
    yard.go()
    await ended(first)
    assert await yard.shell(script) == first
    assert first.lines(0)[0] == ["here"]


async def test_no_zombie_of_a_keeper_stays(yard: Yard) -> None:
    kept = await asyncio.gather(*(yard.shell("true", run=f"t.{n}") for n in range(3)))
    await asyncio.gather(*map(ended, kept))
    keepers = {each.keeper.pid for each in kept}
    async with asyncio.timeout(BOUND_S):
        while keepers & {child.pid for child in psutil.Process().children()}:
            await asyncio.sleep(0.01)


async def test_a_folder_without_a_keeper_is_not_adopted(yard: Yard) -> None:
    assert await custody.adopt(yard.folder("never")) is None
    yard.folder("empty").mkdir(parents=True)
    assert await custody.adopt(yard.folder("empty")) is None


async def test_adopting_waits_for_a_keeper_that_is_just_starting(yard: Yard) -> None:
    folder = yard.folder("young")
    folder.mkdir(parents=True)
    with (folder / "keeper.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        adopting = asyncio.ensure_future(custody.adopt(folder))
        done, _ = await asyncio.wait([adopting], timeout=0.05)
        assert not done
        me = {"pid": 1, "started": 2}
        draft = folder / "draft"
        draft.write_text(json.dumps({"keeper": me, "agent": me}))
        draft.rename(folder / "keeper.json")
        async with asyncio.timeout(BOUND_S):
            assert await adopting == AgentProcess(folder, Process(1, 2), Process(1, 2))


async def test_a_keeper_that_comes_after_its_folder_was_given_up_starts_nothing(yard: Yard) -> None:
    folder = yard.folder("late")
    folder.mkdir(parents=True)
    (folder / "start.json").write_text("{}")
    assert await custody.adopt(folder) is None
    late = keep_by_hand(folder)
    assert late.returncode == 1
    assert late.stderr == "this folder was abandoned before its keeper started\n"
    assert not (folder / "keeper.json").exists()


def keep_by_hand(folder: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-S", str(custody.KEEPER), str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)
