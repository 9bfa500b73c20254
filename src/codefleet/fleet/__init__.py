"""The verbs, a file per noun. `Fleet` is what a person or a program can ask, behind every door.

What only a runner does is in `codefleet.fleet.dispatch`; what only the agent of a run does, in
`codefleet.fleet.own_run`.
"""

from codefleet.fleet.alerts import Alerts
from codefleet.fleet.archive import Archive
from codefleet.fleet.dependencies import Graph
from codefleet.fleet.details import Details
from codefleet.fleet.export import Exchange
from codefleet.fleet.file_claims import Claims
from codefleet.fleet.finding import Finding
from codefleet.fleet.log import Log
from codefleet.fleet.moves import Moves
from codefleet.fleet.requests import Requests
from codefleet.fleet.reviews import Reviews
from codefleet.fleet.runs import Runs
from codefleet.fleet.sessions import Sessions
from codefleet.fleet.similar import Searching
from codefleet.fleet.status import Overview
from codefleet.fleet.teams import Teams
from codefleet.fleet.trends import Trending
from codefleet.fleet.waiting import Watching
from codefleet.fleet.workflows import Workflows


class Fleet(
    Overview,
    Details,
    Workflows,
    Claims,
    Reviews,
    Runs,
    Log,
    Exchange,
    Archive,
    Watching,
    Graph,
    Searching,
    Finding,
    Trending,
    Alerts,
    Teams,
    Sessions,
    Moves,
    Requests,
):
    """Everything you can ask of a fleet; `docs/reference/library.md` lists it."""
