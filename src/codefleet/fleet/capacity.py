"""What no machine of the fleet has room for: caps that are reached, repos on other machines."""

from collections.abc import Mapping, Sequence
from typing import Any

from codefleet.config import Config
from codefleet.domain.caps import NO_CAPS, AtWork, Caps, reached, swarm_is_full
from codefleet.domain.model import Repo, Runner, Swarm, Task, TaskId
from codefleet.domain.scheduling import takes, waits_for_remote
from codefleet.domain.words import State
from codefleet.fleet import places
from codefleet.fleet.agents import Agents, live_runners, unreachable
from codefleet.fleet.repos import Repos
from codefleet.ports import TaskQuery


class Capacity(Agents, Repos):
    async def _no_room(
        self, tasks: Sequence[Task], running: Sequence[Task]
    ) -> Mapping[TaskId, str]:
        """Why no machine can start some of these tasks now, in words.

        The caps are those of this machine: all should have the same.
        """
        alive = await live_runners(self.core)
        hosts = {runner.host for runner in alive}
        full = alive[0].waits if alive and all(runner.waits for runner in alive) else ""
        away = await self._away(alive)
        caps = caps_of(self.core.config)
        at_work = await self._at_work(running) if caps else ()
        swarms = await self._full_swarms(tasks)
        found = {
            task.id: full
            or away.get(task.repo)
            or _not_taken(alive, task)
            or swarms.get(task.swarm or "")
            or reached(
                caps or NO_CAPS,
                at_work,
                hosts,
                repo=task.repo,
                coder=task.coder or self.core.config.coder,
            )
            for task in tasks
        }
        return {task: why for task, why in found.items() if why}

    async def _full_swarms(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        """The swarms of these tasks in which no agent may start now, and why."""
        ids = sorted({task.swarm for task in tasks if task.swarm})
        full = {}
        for swarm in await self.core.store.records(Swarm, ids=ids) if ids else ():
            working = TaskQuery(swarm=swarm.id, states=[State.RUNNING])
            if swarm.killed_at:
                full[str(swarm.id)] = f"its swarm {swarm.id} was killed"
            elif len(await self.core.store.tasks(working)) >= swarm.max_agents:
                full[str(swarm.id)] = swarm_is_full(swarm)
        return full

    async def _away(self, alive: Sequence[Runner]) -> Mapping[str, str]:
        """The repos that are missing, or are only on machines without a runner."""
        repos = await self.repos()
        now = await self.core.store.now()
        unanswered = {each.repo: waits_for_remote(each, now) for each in unreachable(alive)}
        gone = {**unanswered, **places.gone(self.core, repos), **places.unusable(self.core, repos)}
        hosts = {runner.host for runner in alive}
        if not hosts or not places.has_many_machines(self.core):
            return gone
        alone = {
            repo.name: f"{repo.name} is only on {', '.join(sorted(repo.paths))}, without a runner"
            for repo in await self.core.store.records(Repo)
            if not repo.shared and repo.paths and hosts.isdisjoint(repo.paths)
        }
        return {**alone, **gone}

    async def _at_work(self, running: Sequence[Task]) -> Sequence[AtWork]:
        repos = {task.id: task.repo for task in running}
        live = await self.core.store.runs(tasks=[*repos], live=True) if repos else ()
        now = await self.core.store.steady()
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
