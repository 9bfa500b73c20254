"""Coder accounts: which rest, for how long, and who waits for them."""

import os
from collections.abc import Collection, Mapping, Sequence

from codefleet.config import Config, load
from codefleet.domain import accounts
from codefleet.domain.access import Right
from codefleet.domain.errors import FleetError, NotFound
from codefleet.domain.events import event
from codefleet.domain.model import Rest, Task, TaskId
from codefleet.domain.routing import coder_for
from codefleet.fleet.repos import Repos
from codefleet.ports import Write


class Accounts(Repos):
    async def rests(self) -> Sequence[Rest]:
        """The coder accounts that rest now, because of a limit or an expired login.

        A rest that is over ends by itself.
        """
        now = await self.core.store.now()
        return list(accounts.holding(await self.core.store.records(Rest), now).values())

    async def wake(self, name: str) -> Rest:
        """End an account's rest; `name` is the account or, if only one of its rests, the coder."""
        await self.core.permit(Right.WAKE)
        rests = await self.rests()
        found = [rest for rest in rests if rest.account == name] or [
            rest for rest in rests if accounts.coder_of(rest.account) == name
        ]
        if len(found) != 1:
            raise NotFound(
                f"no account {name} rests" if not found else f"several accounts of {name} rest",
                hint=f"these rest: {', '.join(rest.account for rest in rests) or 'none'}",
            )
        now = await self.core.store.now()
        woken = found[0].evolve(until=now, version=found[0].version + 1)
        told = event("account.woken", now, woken.account, account=woken.account)
        await self.core.write(Write(records=[woken], events=[told]))
        return woken

    async def _resting(self, tasks: Sequence[Task]) -> Mapping[TaskId, str]:
        """For each of these tasks whose account rests, a sentence about that rest."""
        rests = {rest.account: rest for rest in await self.rests()}
        if not rests:
            return {}
        now = await self.core.store.now()
        settings = await self._settings_of({task.repo for task in tasks})
        used = {
            task.id: _account(task, settings.get(task.repo, self.core.config)) for task in tasks
        }
        return {
            task: accounts.sentence(rests[account], now)
            for task, account in used.items()
            if account in rests
        }

    async def _settings_of(self, names: Collection[str]) -> Mapping[str, Config]:
        """The settings of these repos, as far as they can be read here."""
        found: dict[str, Config] = {}
        for repo in await self.repos():
            if repo.name in names:
                try:
                    found[repo.name] = load(self.core.home, repo_name=repo.name, env=os.environ)
                except FleetError:
                    continue
        return found


def _account(task: Task, settings: Config) -> str:
    return accounts.account_of(coder_for(task, settings.route, settings.coder), settings.coders)
