"""`/health` for who has a token: the version, and how many there are to work with."""

from importlib.metadata import version

from codefleet.domain.noun import Noun
from codefleet.fleet import Fleet


class HealthReport(Noun, rename="camel"):
    """The server is alive; the `agents` are members of teams."""

    status: str = "ok"
    version: str
    agents: int
    workers: int


async def health(fleet: Fleet) -> HealthReport:
    """Is the server alive, and for how many?"""
    members = [len(await fleet.members(team.name)) for team in await fleet.teams()]
    return HealthReport(
        version=version("codefleet"), agents=sum(members), workers=len(await fleet.workers())
    )
