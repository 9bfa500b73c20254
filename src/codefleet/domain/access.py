"""Who may do what: one table. A human may do everything, an agent only what is listed here.

An agent acts for its run. Its permissions cover the tasks that it created, and those that they
created in turn. Decisions that belong to a human are left out, and so is anything new until
someone adds it here.
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
    """Refuse a verb that only a human may use."""
    if verb not in OF_AN_AGENT:
        raise Refused(
            f"an agent of the fleet may not {verb}: that is for a human to decide",
            hint="ask with ask_human; if you are the human, use a shell that no agent started",
        )
