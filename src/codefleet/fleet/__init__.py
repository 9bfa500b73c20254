"""The verbs, a file per noun. `Fleet` is all of them together: the one core behind every door."""

from codefleet.fleet.archive import Archive
from codefleet.fleet.dependencies import Graph
from codefleet.fleet.exchange import Exchange
from codefleet.fleet.families import Families
from codefleet.fleet.log import Log
from codefleet.fleet.messages import Messages
from codefleet.fleet.repos import Repos
from codefleet.fleet.runs import Runs
from codefleet.fleet.searching import Searching
from codefleet.fleet.status import Overview
from codefleet.fleet.tokens import Tokens
from codefleet.fleet.watching import Watching
from codefleet.fleet.workflows import Workflows


class Fleet(
    Overview,
    Workflows,
    Messages,
    Runs,
    Repos,
    Log,
    Exchange,
    Archive,
    Watching,
    Graph,
    Families,
    Searching,
    Tokens,
):
    """Everything you can ask of a fleet."""
