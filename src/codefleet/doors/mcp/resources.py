"""Resources, too long for a tool's answer: a run's log, diff and evidence."""

import json
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import ResourceError

from codefleet.domain.errors import FleetError, NotFound
from codefleet.domain.model import Run, RunId
from codefleet.doors.mcp.toolset import ServerContext
from codefleet.runner import verbs

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

LONGEST_LOG = 5000
LONGEST_DIFF = 1_000_000


class Resources:
    """Reads what runs left behind."""

    def __init__(self, context: ServerContext) -> None:
        self.server = context

    async def log(self, run: str) -> str:
        """The end of what a run's agent printed."""
        found = await self._run(run)
        return await verbs.run_log(self.server.context, found.id, LONGEST_LOG)

    async def diff(self, run: str) -> str:
        """What a run changed since it started; for a live run, as it is now."""
        found = await self._run(run)
        try:
            return (await verbs.diff(self.server.fleet, found.id))[:LONGEST_DIFF]
        except FleetError as refused:
            raise ResourceError(f"{refused.problem}. {refused.hint}") from None

    async def evidence(self, run: str) -> str:
        """What the fleet itself checked about a run: git facts and check commands, as JSON."""
        found = await self._run(run)
        return json.dumps(found.evidence.plain(), indent=2) if found.evidence else "null"

    async def _run(self, name: str) -> Run:
        fleet = self.server.fleet
        found = await fleet.find_runs([RunId(name)])
        if not found:
            refused = NotFound(f"no run {name[:80]}", hint="get_worker_status names the run_id")
            raise ResourceError(f"{refused.problem}; {refused.hint}")
        await fleet.asking()
        try:
            await fleet.permit_reading(found[0].task)
        except FleetError as refused:
            raise ResourceError(f"{refused.problem}; {refused.hint}") from None
        return found[0]


def register(server: "MCPServer[Any]", context: ServerContext) -> None:
    """Offer the resources of every run."""
    read = Resources(context)
    kinds = (
        ("log", read.log, "text/plain"),
        ("diff", read.diff, "text/x-diff"),
        ("evidence", read.evidence, "application/json"),
    )
    for name, reading, kind in kinds:
        about = (reading.__doc__ or "").strip()
        server.resource(
            f"fleet://runs/{{run}}/{name}", name=f"run_{name}", description=about, mime_type=kind
        )(reading)
