"""One agent at work, as the parts that follow it see it."""

from typing import NamedTuple

from codefleet.coder import Coder
from codefleet.domain.model import Run
from codefleet.runner.lease import Lease
from codefleet.runner.output.transcript import OutputState
from codefleet.runner.process.custody import AgentProcess


class LiveAgent(NamedTuple):
    """The run it works on, its kind, its process, and what it has said so far."""

    lease: Lease
    coder: Coder
    kept: AgentProcess
    heard: OutputState

    @property
    def run(self) -> Run:
        return self.lease.run
