"""The conversation with an agent, from its first session to the end of its last turn."""

import asyncio
import signal
from contextlib import suppress
from pathlib import Path

from acp import RequestError
from acp.connection import Connection

from codefleet.coders.acp import failures
from codefleet.coders.acp.bridge_input import Hearing
from codefleet.coders.acp.bridge_options import Wish
from codefleet.coders.acp.bridge_output import tell
from codefleet.coders.acp.reading import Reading
from codefleet.coders.acp.requests import Requests
from codefleet.coders.acp.session import Refused, Session
from codefleet.coders.acp.wire import Wire

OPENS_WITHIN_S = 120
CANCELS_WITHIN_S = 3


class Conversation:
    """One agent, from its start to its end."""

    def __init__(self, agent: Wire, wish: Wish) -> None:
        self._agent, self._wish = agent, wish
        worktree = Path.cwd()
        self._hearing, self._reading = Hearing(), Reading(worktree)
        requests = Requests(worktree, wish.judged, self._hearing, self._reading)
        self._connection = Connection(requests.handle, agent)
        self._session = Session(self._connection, requests, str(worktree))

    async def run(self) -> int:
        """Work until there is no more to do, it is stopped, or it fails."""
        stopped = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, stopped.set)
        working = asyncio.create_task(self._work())
        stopping = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait({working, stopping}, return_when="FIRST_COMPLETED")
            if not working.done():
                await self._cancel(working)
            return working.result() if working.done() and not working.cancelled() else 1
        finally:
            stopping.cancel()
            await self._connection.close()

    async def _work(self) -> int:
        try:
            async with asyncio.timeout(OPENS_WITHIN_S):
                await self._session.open(self._wish)
            tell([{"type": "started", "session": self._session.id, "model": self._session.model}])
            self._hearing.listen()
            while (words := await self._hearing.words()) is not None:
                tell(lines := [*self._reading.turn_over(await self._session.prompt(words))])
                if not lines or lines[-1]["type"] != "finished":
                    return 1
        except RequestError as error:
            tell([failures.line(error.code, str(error), error.data)])
        except Refused as why:
            tell([{"type": "broke", "text": str(why), "reason": why.reason}])
        except TimeoutError:
            said = f"the agent did not open a session within {OPENS_WITHIN_S} s"
            tell([{"type": "broke", "text": said, "reason": "crashed"}])
        except ConnectionError:
            tell([{"type": "broke", "text": await self._agent.end(), "reason": "crashed"}])
        else:
            return 0
        return 1

    async def _cancel(self, working: asyncio.Task[int]) -> None:
        """Let the agent finish cleanly; whoever stopped us knows why, so report nothing."""
        with suppress(ConnectionError):
            if self._session.id:
                await self._session.cancel()
                self._hearing.over(None)
                await asyncio.wait({working}, timeout=CANCELS_WITHIN_S)
        working.cancel()
        await asyncio.wait({working})
