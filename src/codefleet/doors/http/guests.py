"""Who is connected: told to leave as soon as a token is revoked or expires, or a run is over."""

import asyncio

from codefleet.domain.errors import Refused
from codefleet.fleet import Fleet


async def may_still_ask(fleet: Fleet) -> bool:
    """Is the token still valid with which this fleet was opened, and the run of an agent alive?"""
    try:
        await fleet.check_token()
        await fleet.asking()
    except Refused:
        return False
    return True


class Guest:
    """One connection."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.refused = asyncio.Event()

    async def check(self) -> bool:
        """Is it still welcome? Once it is not, it stays so."""
        if not self.refused.is_set() and not await may_still_ask(self.fleet):
            self.refused.set()
        return not self.refused.is_set()
