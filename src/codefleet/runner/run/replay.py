"""A recorded output of an agent program, read as a run would have read it."""

from datetime import datetime
from typing import NamedTuple

from codefleet.coder import Coder
from codefleet.domain.signals import Signal
from codefleet.runner.output.transcript import OutputState, explain_exit
from codefleet.runner.output.validation import validated
from codefleet.runner.process.agent_process import Exit, split_lines
from codefleet.runner.run import verdict


class Recording(NamedTuple):
    """The signals, the state they add up to, and the verdict on the run."""

    signals: list[Signal]
    heard: OutputState
    verdict: verdict.Verdict


def read(
    coder: Coder, output: bytes, exit: Exit, stderr: str = "", *, printed_at: datetime
) -> Recording:
    """Read the output of a program with this exit, whose last line was printed at `printed_at`."""
    heard = OutputState()
    told = (signal for line in split_lines(output) for signal in coder.read(line))
    signals = [validated(signal, coder.name) for signal in told]
    for signal in signals:
        heard.take(signal)
    signals += explain_exit(heard, coder, exit.code, stderr)
    ended = verdict.judge_run(heard, exit, None, coder.abilities)
    return Recording(signals, heard, verdict.with_reset_time(ended, printed_at))
