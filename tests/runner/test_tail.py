"""Following the output of agents: on one schedule, every line once, and no useless reads."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from codefleet.runner.output import tail
from codefleet.runner.output.tail import ReadSchedule, Tail
from codefleet.runner.process.custody import AgentProcess, Process

NOBODY = Process(0, 0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "stdout.jsonl"


@pytest.fixture
def kept(tmp_path: Path) -> AgentProcess:
    return AgentProcess(tmp_path, NOBODY, NOBODY)


async def test_all_who_wait_hear_the_same_beat() -> None:
    schedule = ReadSchedule()
    first, second = schedule.next(), schedule.next()
    second.set_result(None)  # it had its own reason not to wait
    third = schedule.next()
    await asyncio.wait_for(first, 60)
    assert third.done()
    assert not schedule.next().done()


async def test_a_cancelled_wait_disturbs_nobody() -> None:
    schedule = ReadSchedule()
    gone, waits = schedule.next(), schedule.next()
    gone.cancel()
    await asyncio.wait_for(waits, 60)


def work(*seconds: float) -> Iterator[float]:
    """The CPU time of this process so far, as it would be reported each time."""
    total = 0.0
    for more in (0.0, *seconds):
        total += more
        yield total


@pytest.mark.parametrize(
    ("worked_s", "rest_s"),
    [(0.0001, tail.QUICKEST_S), (0.03, 0.09), (5.0, tail.SLOWEST_S)],
    ids=["quick", "busy", "overrun"],
)
async def test_the_more_work_the_rarer_the_beat(
    monkeypatch: pytest.MonkeyPatch, worked_s: float, rest_s: float
) -> None:
    times = work(worked_s, 0.0)
    monkeypatch.setattr("codefleet.runner.output.tail.time.process_time", lambda: next(times))
    schedule = ReadSchedule()
    schedule.count(lines=1000)
    await asyncio.wait_for(schedule.next(), 10)
    loop = asyncio.get_running_loop()
    rests: list[float] = []
    monkeypatch.setattr(loop, "call_later", lambda delay, *_: rests.append(delay))
    schedule.next()
    assert rests == [pytest.approx(rest_s)]


async def test_other_work_of_the_runner_delays_no_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    times = work(5.0, 0.0)
    monkeypatch.setattr("codefleet.runner.output.tail.time.process_time", lambda: next(times))
    schedule = ReadSchedule()
    schedule.count(lines=3)
    await asyncio.wait_for(schedule.next(), 10)
    rests: list[float] = []
    monkeypatch.setattr(
        asyncio.get_running_loop(), "call_later", lambda delay, *_: rests.append(delay)
    )
    schedule.next()
    assert rests == [tail.QUICKEST_S]


def test_lines_are_read_once_in_order(kept: AgentProcess, file: Path) -> None:
    agent = Tail(kept, 0)
    assert agent.read() is None
    file.write_bytes(b"one\ntwo\nthr")
    assert (agent.read(), agent.at) == (["one", "two"], 8)
    assert agent.read() is None
    file.write_bytes(b"one\ntwo\nthree\n")
    assert agent.read() == ["three"]
    assert agent.read(final=True) is None


def test_the_last_line_needs_no_end(kept: AgentProcess, file: Path) -> None:
    agent = Tail(kept, 0)
    file.write_bytes(b"one\ntw")
    assert agent.read() == ["one"]
    assert agent.read() is None
    assert agent.read(final=True) == ["tw"]


def test_a_file_that_did_not_grow_is_not_opened(
    kept: AgentProcess, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"half a li")
    agent = Tail(kept, 0)
    assert agent.read() is None
    monkeypatch.setattr(
        AgentProcess, "lines", lambda *_, **__: pytest.fail("it was read for nothing")
    )
    assert agent.read() is None


def test_more_than_fits_at_once_comes_bit_by_bit(
    kept: AgentProcess, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "MOST_AT_ONCE", 10)
    file.write_text("".join(f"line {n}\n" for n in range(5)))
    agent = Tail(kept, 0)
    read: list[str] = []
    while lines := agent.read():
        read += lines
    assert read == [f"line {n}" for n in range(5)]


def test_the_next_reader_hears_what_was_read_and_goes_on_behind_it(
    kept: AgentProcess, file: Path
) -> None:
    file.write_bytes(b"one\ntwo\nthree\n")
    agent = Tail(kept, 8)
    assert list(agent.earlier()) == ["one", "two"]
    assert agent.read() == ["three"]
    file.write_bytes(b"")  # somebody emptied it: there is nothing to read again, and no end of it
    assert list(agent.earlier()) == []
