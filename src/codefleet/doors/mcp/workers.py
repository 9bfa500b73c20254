"""The toolset `workers`: one agent at work on one prompt, in a worktree of its own."""

from typing import Any

from codefleet.coders import registry
from codefleet.config import Config
from codefleet.domain import access
from codefleet.domain.errors import BadConfig
from codefleet.domain.model import Draft, Run, Task
from codefleet.domain.validation import checked
from codefleet.domain.words import LandingMode
from codefleet.doors.mcp import views
from codefleet.doors.mcp.limits import Limit, Lines
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.toolset import Toolset, page, position
from codefleet.ports import TaskQuery
from codefleet.runner import background, verbs
from codefleet.runner.programs.installed import missing


class Workers(Toolset):
    """Names, arguments and payloads that clients of worker servers expect."""

    READS = (
        "healthcheck",
        "executor_guide",
        "get_worker_status",
        "list_workers",
        "collect_worker_result",
    )
    WRITES = ("create_worker", "cancel_worker", "cleanup_worker")

    async def healthcheck(self) -> View:
        """Check git, the store, the agent programs and their logins, and the runner.

        `ok` is false if something must be fixed; each finding says how.
        """
        access.refuse_members(self.fleet.actor)
        findings = await verbs.doctor(self.fleet.home)
        return {
            "ok": not any(each.stops_the_fleet for each in findings),
            "runner_alive": await background.has_live_runner(self.fleet),
            "findings": [each._asdict() for each in findings],
        }

    async def executor_guide(self) -> View:
        """Which executors (agent programs) are installed, what each can do, and the default."""
        return {
            "default": self.fleet.config.coder,
            "executors": [_ability(name, self.fleet.config) for name in registry.names()],
        }

    async def create_worker(
        self,
        repo_path: str,
        task_name: str,
        prompt: str,
        base_ref: str = "HEAD",
        executor: str | None = None,
        model: str | None = None,
        reasoning_effort: str | None = None,
        timeout_seconds: float | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        extra_args: list[str] | None = None,
        landing: LandingMode = LandingMode.BRANCH,
    ) -> View:
        """Start one agent on a prompt, in its own git worktree and branch. Returns at once.

        The prompt must be self-contained: the agent sees the repository, not this conversation. If
        all agents are busy, the worker queues. Follow it with get_worker_status or `wait`; then
        collect_worker_result. `landing`: branch (the result stays on its branch), review, queue
        (checked and merged automatically). executor_guide lists executors.
        """
        options = {"effort": reasoning_effort, "args": extra_args or None}
        said = {
            "title": task_name,
            "prompt": prompt,
            "coder": executor,
            "model": model,
            "timeout_s": timeout_seconds,
            "labels": tags or (),
            "metadata": metadata or {},
            "options": {name: value for name, value in options.items() if value},
            "base": base_ref,
            "lands": landing,
            "max_attempts": 1,
            "repo": await self.server.repo(repo_path),
        }
        (task,) = await self.fleet.add([checked(Draft, said)])
        await self.server.ensure_runner()
        return await self._view(task)

    async def get_worker_status(self, worker_id: str) -> View:
        """The status of a worker: pending, running, succeeded, failed, cancelled or timed_out.

        `waits_for` says why a pending one is not running yet; `state` is the fleet's own word
        (asking: a human must answer, see list_inbox; review: waits to land).
        """
        task = await self.fleet.get(worker_id)
        why = await self.fleet.why([task])
        return {
            **await self._view(task),
            "waits_for": why[task.id].text if task.id in why else None,
        }

    async def list_workers(
        self, statuses: list[str] | None = None, limit: Limit = 25, cursor: str | None = None
    ) -> View:
        """Workers, newest first, with these statuses or all. Continue with next_cursor."""
        views.refuse_unknown(statuses or ())
        query = TaskQuery(
            states=views.states(statuses or ()),
            newest_first=True,
            limit=None if statuses else position(cursor) + limit + 1,
        )
        fits = [
            task
            for task in await self.fleet.list(query)
            if not statuses or views.status(task) in statuses
        ]
        shown, more = page(fits, limit, cursor)
        runs = await self.fleet.last_runs(shown)
        eye = await self._eye(*runs.values())
        workers = [views.worker(task, runs.get(task.id), eye) for task in shown]
        return {
            "workers": workers,
            "count": len(workers),
            "summary": views.summary(workers, "worker"),
            "next_cursor": more,
        }

    async def collect_worker_result(
        self, worker_id: str, include_logs: bool = False, log_tail_lines: Lines = 80
    ) -> View:
        """The result of a worker: summary, files and commits from git, checks, next steps.

        `result` is null until its run ends. The full diff and log are the resources named in
        `resources`.
        """
        task = await self.fleet.get(worker_id)
        run = (await self.fleet.last_runs([task])).get(task.id)
        found = {**await self._view(task), "result": views.result(run)}
        if run:
            found["resources"] = [
                f"fleet://runs/{run.id}/{part}" for part in ("log", "diff", "evidence")
            ]
        if include_logs and run:
            for name, file in (("stdout_tail", verbs.STDOUT), ("stderr_tail", verbs.STDERR)):
                found[name] = await verbs.run_log(self.server.context, run.id, log_tail_lines, file)
        return found

    async def cancel_worker(self, worker_id: str) -> View:
        """Stop a worker for good. Its work so far is archived, not lost."""
        return await self._view(await self.fleet.cancel(worker_id))

    async def cleanup_worker(
        self, worker_id: str, remove_branch: bool = True, remove_worktree_dir: bool = True
    ) -> View:
        """Remove the worktree and branch of a finished worker.

        A branch that is not on the trunk is kept under refs/fleet/archive/: no work is lost.
        """
        task = await self.fleet.get(worker_id)
        doing = verbs.cleanup_task(
            self.server.context, task, branch=remove_branch, worktree=remove_worktree_dir
        )
        return {"worker_id": task.id, "cleaned": [told._asdict() async for told in doing]}

    async def _view(self, task: Task) -> View:
        runs = await self.fleet.last_runs([task])
        seen = views.worker(task, runs.get(task.id), await self._eye(*runs.values()))
        return {**seen, "repo_path": (await self.fleet.repo(task.repo)).path}

    async def _eye(self, *runs: Run) -> views.Eye:
        beats = await self.fleet.heartbeats(runs)
        return views.Eye(beats.at, beats.last, self.server.context.paths)


def _ability(name: str, config: Config) -> View:
    try:
        can = registry.coder(name).abilities
    except BadConfig as wrong:
        return {"name": name, "usable": False, "why": wrong.problem}
    why = missing(name, config)
    return {
        "name": name,
        "usable": not why,
        **({"why": why} if why else {}),
        "resumes": can.resume,
        "reports_cost": can.reports_cost,
        "takes_messages": can.talks,
        "verified": can.verified and registry.is_built_in(name),
        "reports_context": can.reports_context,
    }
