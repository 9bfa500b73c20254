"""Verdicts on histories of activity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain.liveness import (
    Life,
    Patience,
    Pulse,
    Verdict,
    is_busy,
    judge,
    window,
    worked_on,
)

PATIENCE = Patience(quiet=120, stuck=600, tool=3600)

# Seconds since the last output, CPU time and file change; what else is known; the verdict.
HISTORIES = """
    0     0     0     -            alive
    119   0     0     -            alive
    120   0     0     -            quiet
    900   0     900   -            quiet
    900   900   0     -            quiet
    0     900   900   -            alive
    599   900   900   -            quiet
    600   600   600   -            stuck
    900   900   900   tool         quiet
    3600  3600  3600  tool         stuck
    900   900   900   first        quiet
    1200  1200  1200  first        stuck
    3600  3600  3600  tool,first   quiet
    7200  7200  7200  tool,first   stuck
"""


def history(line: str) -> tuple[Pulse, Life]:
    output, cpu, files, known, life = line.split()
    ages = (float(output), float(cpu), float(files))
    return Pulse(*ages, "tool" in known, "first" in known), Life(life)


@pytest.mark.parametrize("line", HISTORIES.strip().splitlines())
def test_a_history_gets_its_verdict(line: str) -> None:
    pulse, life = history(line)
    assert judge(pulse, PATIENCE).life is life


def test_a_verdict_tells_every_silent_signal() -> None:
    assert judge(Pulse(700, 650, 601), PATIENCE) == Verdict(
        Life.STUCK, ("no output for 700 s", "no CPU time for 650 s", "no file changed for 601 s")
    )


def test_a_quiet_run_says_only_what_is_silent() -> None:
    assert judge(Pulse(130, 2, 500), PATIENCE).reasons == (
        "no output for 130 s",
        "no file changed for 500 s",
    )


def test_a_living_run_needs_no_reasons() -> None:
    assert judge(Pulse(1, 900, 900), PATIENCE) == Verdict(Life.ALIVE, ())


# How much CPU time an agent's processes used, and in how many seconds.
WORK = """
    idle     0.48  30   claude that waits for its model, measured
    idle     0.0   30   a process that sleeps
    idle     0.01  1    the same, in a short look
    busy     30.0  30   a test suite on one processor
    busy     3.0   30   one that mostly waits for a disk
    busy     0.2   1    a start-up
"""


@pytest.mark.parametrize("line", WORK.strip().splitlines())
def test_a_program_that_only_waits_is_told_from_one_that_works(line: str) -> None:
    life, cpu, seconds, *_ = line.split()
    assert is_busy(float(cpu), float(seconds)) is (life == "busy")


@pytest.mark.parametrize(("stuck", "seconds"), [(0.5, 1), (60, 6), (600, 30), (6000, 30)])
def test_the_longer_the_patience_the_longer_the_look(stuck: float, seconds: float) -> None:
    assert window(Patience(stuck=stuck)) == seconds


ages = st.floats(0, 1e6)


@given(ages, ages, ages, st.booleans(), st.booleans())
def test_one_moving_signal_is_enough_not_to_be_stuck(
    output: float, cpu: float, files: float, tool: bool, first: bool
) -> None:
    pulse = Pulse(output, cpu, files, tool, first)
    moving = (
        pulse._replace(output_age=0),
        pulse._replace(cpu_age=0),
        pulse._replace(files_age=0),
    )
    assert all(judge(each, PATIENCE).life is not Life.STUCK for each in moving)


@given(ages, ages, ages, st.booleans(), st.booleans())
def test_whoever_is_not_alive_gets_a_reason(
    output: float, cpu: float, files: float, tool: bool, first: bool
) -> None:
    verdict = judge(Pulse(output, cpu, files, tool, first), PATIENCE)
    assert bool(verdict.reasons) == (verdict.life is not Life.ALIVE)


def test_work_is_measured_by_uptime_also_while_no_runner_looks() -> None:
    begun = worked_on(None, "boot", 100.0)
    assert begun.seconds == 0
    assert worked_on(worked_on(begun, "boot", 101.0), "boot", 160.0).seconds == 60
    assert worked_on(begun, "another boot", 5000.0).seconds == 0
