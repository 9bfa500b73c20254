"""A recorded output of an agent program, read as a run would have read it."""

from datetime import datetime
from typing import NamedTuple

from codefleet.domain.signals import Signal
from codefleet.ports import Coder
from codefleet.runner import verdict
from codefleet.runner.agents.hearing import Heard, hear_the_end, sound
from codefleet.runner.custody import Exit, split_lines


class Recording(NamedTuple):
    """The signals, the state they add up to, and the verdict on the run."""

    signals: list[Signal]
    heard: Heard
    verdict: verdict.Verdict


def read(
    coder: Coder, output: bytes, exit: Exit, stderr: str = "", *, printed_at: datetime
) -> Recording:
    """Read the output of a program with this exit, whose last line was printed at `printed_at`."""
    heard = Heard()
    told = (signal for line in split_lines(output) for signal in coder.read(line))
    signals = [sound(signal, coder.name) for signal in told]
    for signal in signals:
        heard.take(signal)
    signals += hear_the_end(heard, coder, exit.code, stderr)
    ended = verdict.of_the_run(heard, exit, None, coder.abilities)
    return Recording(signals, heard, verdict.timed(ended, printed_at))
