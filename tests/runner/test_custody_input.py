"""Lines sent to a running agent: each arrives once, even if sent again, and none is lost."""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codefleet.coder import Start
from codefleet.runner.process import custody
from codefleet.runner.process.custody import AgentProcess, Exit
from tests.runner.yard import BOUND_S, HOLD, Yard, ended, until

BIG = "x" * (1 << 20)


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    made = Yard(tmp_path)
    yield made
    await made.clear()


async def listening(yard: Yard, *argv: str, stdin: str | None = "the prompt\n") -> AgentProcess:
    return await yard.begin(Start(argv=argv, stdin=stdin, listens=True))


async def prints(kept: AgentProcess, *expected: str) -> None:
    await until(lambda: kept.lines(0)[0] == list(expected))


async def test_a_line_said_to_a_running_agent_arrives_after_its_prompt(yard: Yard) -> None:
    kept = await listening(yard, "cat")
    await prints(kept, "the prompt")
    assert kept.say("and this")
    await prints(kept, "the prompt", "and this")
    assert kept.say("and that")
    await prints(kept, "the prompt", "and this", "and that")


async def test_an_agent_without_a_prompt_can_be_spoken_to(yard: Yard) -> None:
    kept = await listening(yard, "cat", stdin=None)
    kept.say("hello")
    await prints(kept, "hello")


async def test_a_line_said_twice_arrives_once(yard: Yard) -> None:
    kept = await listening(yard, "cat", stdin="no line end")
    for line in ("one", "no line end", "one", "two", "on", "two"):
        assert kept.say(line)
    kept.close_input()
    assert await ended(kept) == Exit(code=0)
    assert kept.lines(0)[0] == ["no line end", "one", "two", "on"]


async def test_a_hushed_agent_reads_what_was_said_and_then_the_end(yard: Yard) -> None:
    kept = await listening(yard, "cat")
    kept.say("last words")
    kept.close_input()
    kept.close_input()
    assert not kept.say("too late")
    assert kept.say("last words")
    assert await ended(kept) == Exit(code=0)
    assert kept.lines(0)[0] == ["the prompt", "last words"]


async def test_a_big_prompt_arrives_whole_at_a_slow_reader(yard: Yard) -> None:
    kept = await listening(yard, "sh", "-c", f"{HOLD}; sha256sum; echo done", stdin=BIG)
    kept.say("and a line")
    kept.close_input()
    yard.go()
    assert await ended(kept) == Exit(code=0)
    expected = hashlib.sha256(f"{BIG}\nand a line\n".encode()).hexdigest()
    assert kept.lines(0)[0] == [f"{expected}  -", "done"]


@pytest.mark.parametrize("way", ["stop", "kill"])
async def test_an_agent_that_never_reads_is_ended_all_the_same(yard: Yard, way: str) -> None:
    kept = await listening(yard, "sh", "-c", f"touch ready; {HOLD}", stdin=BIG)
    await yard.has("ready")
    kept.say("anybody there?")
    kept.stop() if way == "stop" else kept.kill()
    assert (await ended(kept)).stopped
    assert yard.left() == 0


async def test_an_agent_that_ends_with_lines_unread_is_told_as_ended(yard: Yard) -> None:
    kept = await listening(yard, "sh", "-c", "exit 4", stdin=BIG)
    assert await ended(kept) == Exit(code=4)


async def test_talking_to_an_agent_that_is_gone_troubles_nobody(yard: Yard) -> None:
    kept = await listening(yard, "true")
    await ended(kept)
    assert not kept.say("hello?")
    kept.close_input()


async def test_an_agent_that_does_not_listen_cannot_be_spoken_to(yard: Yard) -> None:
    kept = await yard.begin(Start(argv=["cat"], stdin="only this\n"))
    assert not kept.say("hello?")
    kept.close_input()
    await ended(kept)
    assert kept.lines(0)[0] == ["only this"]


async def test_a_line_that_a_dying_runner_left_half_written_is_said_anew(yard: Yard) -> None:
    kept = await listening(yard, "cat")
    with (kept.folder / "input.jsonl").open("a") as file:
        file.write("half a li")
    kept.say("half a line")
    kept.close_input()
    await ended(kept)
    assert kept.lines(0)[0] == ["the prompt", "half a line"]


async def test_half_a_line_is_never_heard(yard: Yard) -> None:
    kept = await listening(yard, "cat")
    with (kept.folder / "input.jsonl").open("a") as file:
        file.write("half a li")
    kept.close_input()
    await ended(kept)
    assert kept.lines(0, final=True)[0] == ["the prompt"]


async def test_what_is_said_is_for_the_eyes_of_the_user_alone(yard: Yard) -> None:
    kept = await listening(yard, "cat")
    kept.say("a secret")
    assert (kept.folder / "input.jsonl").stat().st_mode & 0o077 == 0
    assert (kept.folder / "bell").stat().st_mode & 0o077 == 0


async def test_the_agent_inherits_neither_bell_nor_pipe(yard: Yard) -> None:
    kept = await listening(yard, "sh", "-c", "ls /proc/$$/fd")
    await ended(kept)
    assert kept.lines(0)[0] == ["0", "1", "2"]


async def test_a_runner_killed_while_it_spoke_loses_and_repeats_nothing(yard: Yard) -> None:
    folder = yard.folder("t.1")
    said = kill_a_runner_that_spoke(folder, yard)
    assert said > 0
    kept = await custody.adopt(folder)
    assert kept
    yard.kept.append(kept)
    everything = [str(number) for number in range(said + 50)]
    for line in everything:
        assert kept.say(line)
    kept.close_input()
    await ended(kept)
    heard = kept.lines(0)[0]
    assert heard[0] == "the prompt"
    assert sorted(heard[1:], key=int) == heard[1:]
    assert set(everything) <= set(heard[1:])
    assert len(set(heard)) == len(heard)


def kill_a_runner_that_spoke(folder: Path, yard: Yard) -> int:
    """Let a runner send lines without a pause and kill it; how many lines it surely sent."""
    argv = [sys.executable, "-c", RUNNER, str(folder), str(yard.work), yard.tag("t.1")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout
        said = [runner.stdout.readline() for _ in range(20)]
        runner.kill()
        said += runner.stdout.readlines()
    return int(json.loads(said[-1] if said[-1].endswith("\n") else said[-2])) + 1


RUNNER = """
import asyncio, os, sys
from pathlib import Path
from codefleet.coder import Start
from codefleet.runner.process import custody

folder, work, tag = sys.argv[1:]

async def main():
    kept = await custody.start(
        Path(folder), Start(argv=["cat"], stdin="the prompt", listens=True), cwd=Path(work),
        env=dict(os.environ), run_id=tag, grace_s=1,
    )
    for number in range(100_000):
        kept.say(str(number))
        print(number, flush=True)

asyncio.run(main())
"""


async def test_many_lines_said_at_once_arrive_in_order(yard: Yard) -> None:
    kept = await listening(yard, "cat", stdin="")
    lines = [f"{number} {'y' * 5000}" for number in range(100)]
    await asyncio.to_thread(lambda: [kept.say(line) for line in lines])
    kept.close_input()
    async with asyncio.timeout(BOUND_S):
        await ended(kept)
    assert kept.lines(0)[0] == lines
