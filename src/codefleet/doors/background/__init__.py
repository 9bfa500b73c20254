"""A runner in the background, with what only doors can offer to its agents."""

from pathlib import Path

from codefleet.doors.agent_tools import offered
from codefleet.runner import background


async def work(home: Path) -> None:
    """Be the background runner of this home, unless there is one."""
    await background.work(home, offered)
