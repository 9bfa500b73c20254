"""Coder accounts: which rest, for how long, and who waits for them."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from codefleet.config import Config, load
from codefleet.domain import accounts
from codefleet.domain.errors import FleetError, NotFound, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Rest, Task, TaskId
from codefleet.domain.routing import coder_for
from codefleet.fleet.core import TRIES
from codefleet.fleet.repos import Repos
from codefleet.ports import Write


class Accounts(Repos):
    async def rests(self) -> Sequence[Rest]:
        """The accounts that rest now; a rest that is over ends by itself."""
        now = await self.store.now()
        return list(accounts.holding(await self.store.rests(), now).values())

    async def last_rest(self, account: str) -> Rest | None:
        """The last rest of an account, over or not."""
        return next((rest for rest in await self.store.rests() if rest.account == account), None)

    async def rest(self, rest: Rest) -> None:
        """Let an account rest, for every runner; the longer of two rests wins."""
        for _ in range(TRIES):
            now = await self.store.now()
            known = {each.account: each for each in await self.store.rests()}
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
                await self.store.write(Write(rests=[new], events=[told]))
            except Stale:
                continue
            return

    async def wake(self, name: str) -> Rest:
        """End an account's rest; `name` is the account or, if only one of its rests, the coder."""
        await self.permit("wake an account")
        rests = await self.rests()
        found = [rest for rest in rests if rest.account == name] or [
            rest for rest in rests if accounts.coder_of(rest.account) == name
        ]
        if len(found) != 1:
            raise NotFound(
                f"no account {name} rests" if not found else f"several accounts of {name} rest",
                hint=f"these rest: {', '.join(rest.account for rest in rests) or 'none'}",
            )
        now = await self.store.now()
        woken = found[0].evolve(until=now, version=found[0].version + 1)
        told = event("account.woken", now, woken.account, account=woken.account)
        await self.store.write(Write(rests=[woken], events=[told]))
        return woken

    async def fail_over(self, task: Task, coder: str, to: str) -> None:
        """Let another coder take over a pending task, unless someone has changed the task since."""
        now = await self.store.now()
        on = accounts.rerouted(task, coder, to).evolve(updated_at=now)
        told = event("task.rerouted", now, f"{coder} rests; {to} takes over", task=task, coder=to)
        with suppress(Stale):
            await self.store.write(Write(tasks=[on], events=[told]))

    async def go_back(self, task: Task) -> Task:
        """Give a task back from the fallback to its own coder; Stale if the task has changed."""
        now = await self.store.now()
        back = accounts.own_again(task).evolve(updated_at=now, version=task.version + 1)
        words = f"{back.coder} works again and takes over"
        told = event("task.rerouted", now, words, task=task, coder=back.coder)
        await self.store.write(Write(tasks=[back], events=[told]))
        return back

    async def resting(self, tasks: Sequence[Task]) -> Mapping[TaskId, str]:
        """For each of these tasks whose account rests, a sentence about that rest."""
        rests = {rest.account: rest for rest in await self.rests()}
        if not rests:
            return {}
        now = await self.store.now()
        settings = await self._settings({task.repo for task in tasks})
        used = {task.id: _account(task, settings.get(task.repo, self.config)) for task in tasks}
        return {
            task: accounts.sentence(rests[account], now)
            for task, account in used.items()
            if account in rests
        }

    async def _settings(self, names: Collection[str]) -> Mapping[str, Config]:
        """The settings of these repos, as far as they can be read here."""
        found: dict[str, Config] = {}
        for repo in await self.repos():
            if repo.name in names:
                try:
                    found[repo.name] = load(self.home, repo_name=repo.name, env=os.environ)
                except FleetError:
                    continue
        return found


def _account(task: Task, settings: Config) -> str:
    return accounts.account_of(coder_for(task, settings.route, settings.coder), settings.coders)
