"""What only a runner does: claim work, report it, land it, and keep its place in the fleet."""

from codefleet.fleet.dispatch.budgets import Budgets
from codefleet.fleet.dispatch.landing import Landing
from codefleet.fleet.dispatch.lanes import Lanes
from codefleet.fleet.dispatch.rate_limits import RateLimits
from codefleet.fleet.dispatch.reading import Reading
from codefleet.fleet.dispatch.repos import Repos
from codefleet.fleet.dispatch.runners import Runners
from codefleet.fleet.dispatch.runs import Runs


class Dispatch(Runs, Landing, Runners, Lanes, Budgets, RateLimits, Repos, Reading):
    """The other half of `Fleet`: the verbs of a runner, on the same core."""
