"""What no machine of the fleet has room for: caps that are reached, repos on other machines."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from codefleet.config import Config
from codefleet.domain.caps import NO_CAPS, AtWork, Caps, reached
from codefleet.domain.model import Runner, Task, TaskId
from codefleet.domain.scheduling import takes, waits_for_remote
from codefleet.fleet.agents import Agents
from codefleet.fleet.repos import Repos


class Capacity(Agents, Repos):
    async def no_room(self, tasks: Sequence[Task], running: Sequence[Task]) -> Mapping[TaskId, str]:
        """Why no machine can start some of these tasks now, in words.

        The caps are those of this machine: all should have the same.
        """
        alive = await self.runners()
        hosts = {runner.host for runner in alive}
        full = alive[0].waits if alive and all(runner.waits for runner in alive) else ""
        away = await self._away(hosts)
        caps = caps_of(self.config)
        at_work = await self._at_work(running) if caps else ()
        found = {
            task.id: full
            or away.get(task.repo)
            or _not_taken(alive, task)
            or reached(
                caps or NO_CAPS,
                at_work,
                hosts,
                repo=task.repo,
                coder=task.coder or self.config.coder,
            )
            for task in tasks
        }
        return {task: why for task, why in found.items() if why}

    async def _away(self, hosts: Collection[str]) -> Mapping[str, str]:
        """The repos that are missing, or are only on machines without a runner."""
        repos = await self.repos()
        now = await self.store.now()
        unanswered = {each.repo: waits_for_remote(each, now) for each in await self.away()}
        gone = {**unanswered, **self.gone(repos), **self.unusable(repos)}
        if not hosts or not self.has_many_machines:
            return gone
        alone = {
            repo.name: f"{repo.name} is only on {', '.join(sorted(repo.paths))}, without a runner"
            for repo in await self.store.repos()
            if not repo.shared and repo.paths and not {*repo.paths} & {*hosts}
        }
        return {**alone, **gone}

    async def _at_work(self, running: Sequence[Task]) -> Sequence[AtWork]:
        repos = {task.id: task.repo for task in running}
        live = await self.store.runs(tasks=[*repos], live=True) if repos else ()
        now = await self.store.steady()
        return [
            AtWork(repos[run.task], run.host, run.coder) for run in live if run.lease_until > now
        ]


def _not_taken(alive: Sequence[Runner], task: Task) -> str:
    """A sentence about a task that no live runner takes, because of its coder."""
    if not alive or any(takes(runner, task) for runner in alive):
        return ""
    only = ", ".join(sorted({str(runner.coder) for runner in alive}))
    return f"it is for {task.coder}, but the active runners take only {only}"


def caps_of(config: Config) -> Caps | None:
    """The caps in the settings, if there are any."""
    caps = Caps(
        fleet=config.most_agents,
        machine=config.most_agents_per_machine,
        repos=_most_of_each(config.repos),
        coders=_most_of_each(config.coders),
    )
    return caps if caps != NO_CAPS else None


def _most_of_each(tables: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, int], ...]:
    return tuple((name, its["most_agents"]) for name, its in tables.items() if "most_agents" in its)
