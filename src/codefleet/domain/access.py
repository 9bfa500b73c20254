"""Who may do what: one table. A human may do everything, an agent only what is named here.

An agent acts for its run. What it may do reaches the tasks that it created, and those that they
created in turn; everything that decides for a human is left out, and so is everything new until
somebody adds it here.
"""

from enum import StrEnum

from codefleet.domain.errors import Refused


class Reach(StrEnum):
    """Which tasks an agent may use a verb on."""

    NEW = "new"
    BELOW = "below"


OF_AN_AGENT = {
    "add": Reach.NEW,
    "start": Reach.NEW,
    "assign": Reach.BELOW,
    "cancel": Reach.BELOW,
    "retry": Reach.BELOW,
    "clean up": Reach.BELOW,
}


def refuse_agents(verb: str) -> None:
    """Refuse an agent a verb that is a human's."""
    if verb not in OF_AN_AGENT:
        raise Refused(
            f"an agent of the fleet may not {verb}: that is for a human to decide",
            hint="ask with ask_human; if you are the human, use a shell that no agent started",
        )
