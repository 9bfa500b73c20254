"""The agent process of one run, and whether it was told to stop."""

import asyncio

from codefleet.runner.process.custody import AgentProcess
from codefleet.runner.stop import Cause, Stop


class Control:
    """Stops the agent of one run, whether it is already running or not."""

    def __init__(self) -> None:
        self.kept: AgentProcess | None = None
        self.stopping: Stop | None = None
        self.given_up = asyncio.Event()
        """Set when nobody waits for set-up and checks any more."""
        self._stop_requested = False

    def stop(self, cause: Cause, why: str) -> None:
        """Ask the agent to stop; its work is kept."""
        if self.stopping is None or cause in (Cause.CANCELLED, Cause.LOST):
            self.stopping = Stop(cause, why)
        if self.is_taken_away:
            self.given_up.set()
        self.request_stop()

    def kill(self) -> None:
        """Kill the agent, or what is run for it; its work is still kept."""
        self.given_up.set()
        if self.kept:
            self.kept.kill()

    def request_stop(self) -> None:
        """Ask the agent to stop, but only once: a keeper kills it at the second request."""
        if self.kept and not self._stop_requested:
            self._stop_requested = True
            self.kept.stop()

    @property
    def is_taken_away(self) -> bool:
        """Does the task no longer need this run?"""
        return self.stopping is not None and self.stopping.cause in (Cause.CANCELLED, Cause.LOST)
