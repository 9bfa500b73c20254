"""Rate limits: the rest of an account, for the whole fleet, and the coder that takes over."""

from contextlib import suppress

from codefleet.domain import accounts
from codefleet.domain.errors import Stale
from codefleet.domain.events import event
from codefleet.domain.model import Rest, Task
from codefleet.fleet.core import TRIES
from codefleet.fleet.dispatch.part import DispatchPart
from codefleet.ports import Write

LONGEST_NOTE = 200


class RateLimits(DispatchPart):
    async def rest(self, rest: Rest) -> None:
        """Let an account rest, for every runner; the longer of two rests wins."""
        rest = rest.evolve(note=self.core.redaction.start(rest.note, LONGEST_NOTE))
        for _ in range(TRIES):
            now = await self.core.store.now()
            known = {each.account: each for each in await self.core.store.records(Rest)}
            new = accounts.longer(known.get(rest.account), rest, now)
            if new is None:
                return
            told = event(
                "account.rests",
                now,
                accounts.sentence(new, now),
                account=new.account,
                reason=new.reason,
                until=new.until and new.until.isoformat(),
            )
            try:
                await self.core.write(Write(records=[new], events=[told]))
            except Stale:
                continue
            return

    async def last_rest(self, account: str) -> Rest | None:
        """The last rest of an account, over or not."""
        return next(iter(await self.core.store.records(Rest, ids=[account])), None)

    async def fail_over(self, task: Task, coder: str, to: str) -> None:
        """Let another coder take over a pending task, unless someone has changed the task since."""
        now = await self.core.store.now()
        on = accounts.rerouted(task, coder, to).evolve(updated_at=now)
        told = event("task.rerouted", now, f"{coder} rests; {to} takes over", task=task, coder=to)
        with suppress(Stale):
            await self.core.write(Write(tasks=[on], events=[told]), verbatim=task.note)

    async def go_back(self, task: Task) -> Task:
        """Give a task back from the fallback to its own coder; Stale if the task has changed."""
        now = await self.core.store.now()
        back = accounts.own_again(task).evolve(updated_at=now, version=task.version + 1)
        words = f"{back.coder} works again and takes over"
        told = event("task.rerouted", now, words, task=task, coder=back.coder)
        await self.core.write(Write(tasks=[back], events=[told]), verbatim=task.note)
        return back
