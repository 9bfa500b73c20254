"""Another process on the same store, for the contract's tests: prints what was stored.

python -m tests.store.worker KIND ADDRESS ACTION [COUNT]
"""

import asyncio
import os
import sys
from datetime import timedelta

from codefleet.domain.errors import Stale
from codefleet.domain.scheduling import ClaimFilter
from codefleet.ports import Store, Write
from tests.store.kinds import KINDS
from tests.store.samples import RealClock, completed, event, seat, task

LEASE = timedelta(minutes=10)


async def append(store: Store, count: int) -> None:
    """Add events one by one."""
    for _ in range(count):
        (told,) = await store.write(Write(events=[event("appended")]))
        say(str(told.seq))


async def drain(store: Store, count: int) -> None:
    """Claim and complete until nothing is left."""
    while claims := await store.claim([seat(f"agent-{os.getpid()}")], ClaimFilter(), lease=LEASE):
        for claimed in claims:
            await store.write(completed(claimed))
            say(claimed.task.id)


async def churn(store: Store, count: int) -> None:
    """Add, claim and complete, until killed."""
    number = 0
    while True:
        first, second = f"{os.getpid()}-{number}", f"{os.getpid()}-{number + 1}"
        number += 2
        await store.write(
            Write(tasks=[task(first), task(second, needs=(first,))], events=[event("added")])
        )
        say(f"added {first}")
        for claimed in await store.claim([seat()], ClaimFilter(), lease=LEASE):
            try:
                await store.write(completed(claimed))
            except Stale:
                continue
            say(f"completed {claimed.task.id}")


ACTIONS = {"append": append, "drain": drain, "churn": churn}


def say(line: str) -> None:
    """At once and unbuffered: what is printed has been stored."""
    os.write(1, f"{line}\n".encode())


async def main(kind: str, address: str, action: str, count: str = "0") -> None:
    store = KINDS[kind].open(address, RealClock())
    say("ready")
    # The signal to start comes on stdin, so that several processes start at the same moment.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await ACTIONS[action](store, int(count))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
