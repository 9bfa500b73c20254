"""Agents under keepers, with real processes: no output is lost, nothing is left behind."""

import fcntl
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codefleet.coder import Start
from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.process import custody
from codefleet.runner.process.custody import Exit, Process
from tests.runner.yard import BOUND_S, HOLD, Yard, ended, until

LEAVE_TWO = """
setsid sh -c 'echo $$ >> pids; exec sleep 600' &
( ( sh -c 'echo $$ >> pids; exec sleep 600' & ) & )
while [ "$(cat pids 2>/dev/null | wc -l)" -lt 2 ]; do sleep 0.01; done
"""


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    made = Yard(tmp_path)
    yield made
    await made.clear()


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


@pytest.mark.linux
async def test_a_chain_of_short_lived_processes_is_caught(yard: Yard) -> None:
    chain = """
import fcntl, os, signal, time
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = open("held", "w")
fcntl.flock(held, fcntl.LOCK_EX)
open("ready", "w").close()
limit = time.monotonic() + 60
while time.monotonic() < limit:
    if os.fork():
        os._exit(0)
"""
    (yard.work / "chain.py").write_text(chain)
    kept = await yard.shell(f"( {sys.executable} -I -S chain.py & ); {HOLD}")
    await yard.has("ready")
    yard.go()
    assert (await ended(kept)).code == 0
    with (yard.work / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # its last process has let go


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
    with pytest.raises(WorkspaceTrouble, match="cannot start an agent") as told:
        await yard.start("true")
    assert told.value.hint


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
