"""Agents under keepers, with real processes: nothing they print is lost, nothing is left behind."""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from codefleet.domain.errors import Workspace
from codefleet.ports import Start
from codefleet.runner import custody
from codefleet.runner.custody import Exit, Kept, Process

BOUND_S = 20
HOLD = "while [ ! -e go ]; do sleep 0.01; done"
LEAVE_TWO = """
setsid sh -c 'echo $$ >> pids; exec sleep 600' &
( ( sh -c 'echo $$ >> pids; exec sleep 600' & ) & )
while [ "$(cat pids 2>/dev/null | wc -l)" -lt 2 ]; do sleep 0.01; done
"""


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(BOUND_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


class Yard:
    """A place to start agents in, each with a run's folder and a shared working folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.work.mkdir()
        self.kept: list[Kept] = []

    async def start(self, *argv: str, run: str = "t.1", grace_s: float = 0.3) -> Kept:
        return await self.begin(Start(argv=argv), run=run, grace_s=grace_s)

    async def shell(self, script: str, *, run: str = "t.1", grace_s: float = 0.3) -> Kept:
        return await self.start("sh", "-c", script, run=run, grace_s=grace_s)

    async def begin(self, start: Start, *, run: str = "t.1", grace_s: float = 0.3) -> Kept:
        kept = await custody.start(
            self.folder(run),
            start,
            cwd=self.work,
            env={"PATH": os.environ["PATH"]},
            run_id=self.tag(run),
            grace_s=grace_s,
        )
        self.kept.append(kept)
        return kept

    def folder(self, run: str) -> Path:
        return self.path / "runs" / run

    def tag(self, run: str) -> str:
        return f"{self.path.name}-{os.getpid()}-{run}"

    def go(self) -> None:
        (self.work / "go").touch()

    async def has(self, name: str) -> None:
        await until((self.work / name).exists)

    def left(self, run: str = "t.1") -> int:
        return custody.sweep(self.tag(run))

    async def clear(self) -> None:
        for kept in self.kept:
            kept.kill()
            await kept.ended()
            custody.sweep(self.tag(kept.folder.name))


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    made = Yard(tmp_path)
    yield made
    await made.clear()


async def ended(kept: Kept) -> Exit:
    async with asyncio.timeout(BOUND_S):
        return await kept.ended()


async def test_what_an_agent_prints_and_how_it_ends_are_kept(yard: Yard) -> None:
    kept = await yard.shell("echo one; echo two; echo bad >&2; exit 3")
    assert await ended(kept) == Exit(code=3)
    assert kept.lines(0) == (["one", "two"], 8)
    assert (kept.folder / "stderr.log").read_text() == "bad\n"


async def test_the_prompt_arrives_on_standard_input(yard: Yard) -> None:
    kept = await yard.begin(Start(argv=["cat"], stdin="Größe\r\nwith $(no) shell"))
    await ended(kept)
    assert (kept.folder / "stdout.jsonl").read_bytes().decode() == "Größe\r\nwith $(no) shell"


async def test_without_a_prompt_standard_input_is_at_its_end(yard: Yard) -> None:
    kept = await yard.start("cat")
    assert await ended(kept) == Exit(code=0)


async def test_an_agent_sees_only_its_own_environment_and_the_tag(yard: Yard) -> None:
    kept = await yard.begin(Start(argv=["env"], env={"MINE": "yes"}))
    await ended(kept)
    names = {line.partition("=")[0] for line in kept.lines(0)[0]}
    assert names == {"PATH", "MINE", "FLEET_RUN"}


async def test_the_program_is_looked_up_on_the_agents_own_path(yard: Yard) -> None:
    program = yard.path / "bin" / "my-agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    kept = await yard.begin(Start(argv=["my-agent"], env={"PATH": path}))
    await ended(kept)
    assert kept.lines(0)[0] == ["found"]


async def test_an_agent_inherits_no_ignored_or_blocked_signal(yard: Yard) -> None:
    kept = await yard.start("cat", "/proc/self/status")
    await ended(kept)
    status = dict(line.split(":\t") for line in kept.lines(0)[0])
    classic = 2**31 - 1  # the signals above belong to the C library, which resets them itself
    assert int(status["SigBlk"], 16) & classic == 0
    assert int(status["SigIgn"], 16) & classic == 0


async def test_an_agent_inherits_no_open_file(yard: Yard) -> None:
    with (yard.work / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        kept = await yard.shell("ls /proc/$$/fd")
        await ended(kept)
    assert kept.lines(0)[0] == ["0", "1", "2"]


async def test_orders_with_keys_in_them_do_not_stay_on_disk(yard: Yard) -> None:
    kept = await yard.begin(Start(argv=["sh", "-c", HOLD], env={"KEY": "hunter2"}, stdin="hello"))
    files = {file.name: file for file in kept.folder.iterdir()}
    assert "start.json" not in files
    assert not any("hunter2" in file.read_text() for file in files.values())
    assert files["stdin.txt"].stat().st_mode & 0o077 == 0
    assert files["stdout.jsonl"].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("way", ["end", "crash", "stop", "stubborn", "kill"])
async def test_nothing_is_left_however_an_agent_ends(yard: Yard, way: str) -> None:
    ends = {"crash": "kill -SEGV $$", "end": "exit 0"}
    trap = "trap '' TERM;" if way == "stubborn" else ""
    kept = await yard.shell(f"{trap} {LEAVE_TWO} touch ready; {HOLD}; {ends.get(way, '')}")
    await yard.has("ready")
    pids = [int(pid) for pid in (yard.work / "pids").read_text().split()]
    orphans = [found for pid in pids if (found := Process.find(pid))]
    assert len(orphans) == 2
    match way:
        case "end" | "crash":
            yard.go()
        case "kill":
            kept.kill()
        case _:
            kept.stop()
    exit = await ended(kept)
    assert not [orphan for orphan in orphans if orphan.is_alive]
    assert not kept.agent.is_alive
    assert yard.left() == 0
    expected = {
        "end": (0, None),
        "crash": (None, signal.SIGSEGV),
        "stop": (None, signal.SIGTERM),
        "stubborn": (None, signal.SIGKILL),
        "kill": (None, signal.SIGKILL),
    }
    assert (exit.code, exit.signal) == expected[way]
    assert exit.stopped is (way in ("stop", "stubborn", "kill"))
    if way in ("end", "crash"):
        assert exit.orphans == 2


async def test_what_forks_while_it_is_ended_is_ended_too(yard: Yard) -> None:
    again = (
        "setsid sh -c \"trap 'setsid sleep 600 &' TERM; touch ready; while :; do sleep 1; done\""
    )
    kept = await yard.shell(f"{again} & {HOLD}")
    await yard.has("ready")
    yard.go()
    exit = await ended(kept)
    assert exit.orphans >= 2
    assert yard.left() == 0


async def test_a_chain_of_short_lived_processes_is_caught(yard: Yard) -> None:
    chain = """
import os, signal, sys
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("ready", "w").close()
while True:
    if os.fork():
        os._exit(0)
"""
    (yard.work / "chain.py").write_text(chain)
    kept = await yard.shell(f"( {sys.executable} -I -S chain.py & ); {HOLD}")
    await yard.has("ready")
    yard.go()
    assert (await ended(kept)).code == 0
    assert yard.left() == 0


async def test_a_stop_reaches_the_agent_behind_a_wrapper_script(yard: Yard) -> None:
    inner = f"trap 'touch said-goodbye; exit 0' INT; trap '' TERM; touch ready; {HOLD}"
    (yard.work / "inner.sh").write_text(inner)
    start = Start(argv=["sh", "-c", "sh inner.sh; true"], stop_signal="SIGINT")
    kept = await yard.begin(start, grace_s=BOUND_S)
    await yard.has("ready")
    kept.stop()
    assert (await ended(kept)).stopped
    assert (yard.work / "said-goodbye").exists()


async def test_the_stop_signal_is_the_one_the_coder_chose(yard: Yard) -> None:
    script = f"trap 'echo interrupted; exit 0' INT; trap '' TERM; touch ready; {HOLD}"
    kept = await yard.begin(Start(argv=["sh", "-c", script], stop_signal="SIGINT"), grace_s=BOUND_S)
    await yard.has("ready")
    kept.stop()
    assert await ended(kept) == Exit(code=0, stopped=True)
    assert kept.lines(0)[0] == ["interrupted"]


async def test_a_second_stop_does_not_wait_for_the_grace(yard: Yard) -> None:
    kept = await yard.shell(f"trap 'touch asked' TERM; touch ready; {HOLD}", grace_s=3600)
    await yard.has("ready")
    kept.stop()
    await yard.has("asked")
    kept.stop()
    assert (await ended(kept)).signal == signal.SIGKILL


async def test_ctrl_c_and_a_closed_terminal_do_not_reach_the_keeper(yard: Yard) -> None:
    kept = await yard.shell(f"{HOLD}; echo done")
    for name in (signal.SIGINT, signal.SIGHUP):
        kept.keeper.send(name)
    assert len({os.getsid(pid) for pid in (kept.keeper.pid, kept.agent.pid, os.getpid())}) == 3
    yard.go()
    assert await ended(kept) == Exit(code=0)


async def test_a_program_that_cannot_be_started_is_told_in_a_sentence(yard: Yard) -> None:
    kept = await yard.start("no-such-agent")
    exit = await ended(kept)
    assert exit.code is None
    assert exit.error == f"cannot run no-such-agent in {yard.work}: No such file or directory"


async def test_an_argument_no_program_can_take_is_told_too(yard: Yard) -> None:
    kept = await yard.start("echo", "a\0b")
    assert "null byte" in str((await ended(kept)).error)


async def test_a_folder_that_cannot_be_made_is_told_with_a_hint(yard: Yard) -> None:
    (yard.path / "runs").write_text("a file in the way")
    with pytest.raises(Workspace, match="cannot start an agent") as told:
        await yard.start("true")
    assert told.value.hint


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
from codefleet.ports import Start
from codefleet.runner import custody

folder, work, tag, hold = sys.argv[1:]

async def main():
    argv = ["sh", "-c", f"echo before; {hold}; echo after; exit 7"]
    await custody.start(Path(folder), Start(argv=argv), cwd=Path(work), env=dict(os.environ),
                        run_id=tag, grace_s=1)
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


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


async def test_a_sweep_leaves_other_runs_alone(yard: Yard) -> None:
    one = await yard.shell("sleep 600", run="t.1")
    other = await yard.shell("sleep 600", run="t.10")
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
    first, second = await asyncio.gather(yard.shell(script), yard.shell(script))
    third = await yard.shell(script)
    assert first == second == third
    yard.go()
    await ended(first)
    assert await yard.shell(script) == first
    assert first.lines(0)[0] == ["here"]


async def test_no_zombie_of_a_keeper_stays(yard: Yard) -> None:
    kept = await asyncio.gather(*(yard.shell("true") for _ in range(3)))
    await asyncio.gather(*map(ended, kept))
    ours = psutil.Process().children()
    assert not [child for child in ours if child.status() == psutil.STATUS_ZOMBIE]


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
            assert await adopting == Kept(folder, Process(1, 2), Process(1, 2))


async def test_a_keeper_that_comes_after_its_folder_was_given_up_starts_nothing(yard: Yard) -> None:
    folder = yard.folder("late")
    folder.mkdir(parents=True)
    (folder / "start.json").write_text("{}")
    assert await custody.adopt(folder) is None
    late = keep_by_hand(folder)
    assert late.returncode == 1
    assert late.stderr == "this folder was given up before its keeper came\n"
    assert not (folder / "keeper.json").exists()


def keep_by_hand(folder: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-S", str(custody.KEEPER), str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


async def test_a_process_is_known_by_its_start_and_not_by_its_pid_alone() -> None:
    with sleeper() as child:
        process = Process.find(child.pid)
        assert process is not None
        assert process.is_alive
        namesake = Process(process.pid, process.started + 1)
        assert not namesake.is_alive
        assert namesake.cpu_seconds() == 0
        with pytest.raises(ProcessLookupError), namesake.descriptor():
            pass
        async with asyncio.timeout(BOUND_S):
            await namesake.ended()
        assert process.is_alive
        process.send(signal.SIGKILL)
        assert child.wait(BOUND_S) == -signal.SIGKILL
    assert not process.is_alive


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "600"])


def test_a_process_that_has_ended_but_is_not_reaped_is_dead() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert Process.find(child.pid) is None


async def test_processor_time_is_that_of_the_whole_tree(yard: Yard) -> None:
    kept = await yard.shell(f"( while :; do :; done ) & {HOLD}")
    at_first = kept.cpu_seconds()
    await until(lambda: kept.cpu_seconds() > at_first + 0.2)
    kept.kill()
    await ended(kept)
    assert kept.cpu_seconds() == 0


def test_the_environment_of_an_agent_is_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDECODE", "SECRET_TOKEN", "LC_TIME", "AWS_REGION", "MY_KEY", "MY_KEY_2"):
        monkeypatch.setenv(name, "x")
    seen = custody.environment(["AWS_*", "MY_KEY"], {"FLEET_TASK": "t"})
    assert {"PATH", "LC_TIME", "AWS_REGION", "MY_KEY", "FLEET_TASK"} <= set(seen)
    assert not {"CLAUDECODE", "SECRET_TOKEN", "MY_KEY_2"} & set(seen)


@pytest.fixture
def output(tmp_path: Path) -> tuple[Kept, Path]:
    nobody = Process(0, 0)
    return Kept(tmp_path, nobody, nobody), tmp_path / "stdout.jsonl"


def test_only_whole_lines_are_read_until_the_end(output: tuple[Kept, Path]) -> None:
    kept, file = output
    assert kept.lines(0) == ([], 0)
    file.write_bytes(b"one\r\n\ntw")
    assert kept.lines(0) == (["one", ""], 6)
    assert kept.lines(6) == ([], 6)
    assert kept.lines(6, final=True) == (["tw"], 8)
    assert kept.lines(8, final=True) == ([], 8)


def test_bytes_that_are_no_text_do_not_stop_the_reading(output: tuple[Kept, Path]) -> None:
    kept, file = output
    file.write_bytes(b"\xff\xfe\0\r10 %\r20 %\n" + '{"a": "\u2028\x0b"}\n'.encode())
    assert kept.lines(0)[0] == ["\ufffd\ufffd\0\r10 %\r20 %", '{"a": "\u2028\x0b"}']


def test_a_line_longer_than_the_limit_is_read_whole(output: tuple[Kept, Path]) -> None:
    kept, file = output
    file.write_bytes(b"x" * 5000 + b"\nnext\n")
    assert kept.lines(0, 1000) == (["x" * 5000, "next"], 5006)


def test_an_endless_line_comes_in_pieces(
    output: tuple[Kept, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custody, "LONGEST_LINE", 4000)
    kept, file = output
    file.write_bytes(b"x" * 9000)
    offset, sizes = 0, []
    for _ in range(3):
        lines, offset = kept.lines(offset, 1000)
        sizes += [len(line) for line in lines]
    assert (sizes, offset) == ([4000, 4000], 8000)
    assert kept.lines(offset, 1000, final=True) == (["x" * 1000], 9000)
