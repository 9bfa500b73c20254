"""The toolset `agent`: what an agent of the fleet can do from within its own run."""

from typing import Any

from mcp.server.mcpserver import Context

from codefleet.coders import registry
from codefleet.domain.checking import checked
from codefleet.domain.model import Draft, Run
from codefleet.domain.signals import Asks
from codefleet.doors.mcp import briefly, views
from codefleet.doors.mcp.house import Toolset, View
from codefleet.runner.agents import jotting
from codefleet.runner.repos import base

NOT_YET = "Nobody has answered yet. End your turn; the answer comes with your next run."


class OwnRun(Toolset):
    """Every tool acts for the run whose token the server holds, and for no other."""

    READS = ("read_results",)
    WRITES = (
        *("ask_human", "report_progress", "note_knowledge"),
        *("checkpoint_create", "create_task"),
    )

    async def ask_human(
        self, question: str, ctx: Context, options: list[str] | None = None
    ) -> View:
        """Ask a human what you cannot find out yourself; give options if there are a few.

        Waits for the answer and returns it. If nobody answers for a long time, `answer` is null:
        end your turn then. Your work is kept, and you continue there once there is an answer.
        """
        run = await self.house.own_run()
        texts = tuple(" ".join(option.split()) for option in options or ())
        asked = await self.fleet.pose(run, Asks(question.strip(), texts))
        steps, answer = 0, None
        async for seen in self.fleet.answer_to(asked, await self._patience(run)):
            steps, answer = steps + 1, seen.answer
            await ctx.report_progress(steps, message="waiting for a human")
        told = {"question_id": asked.id, "answer": answer}
        return told if answer else {**told, "now": NOT_YET}

    async def report_progress(self, text: str) -> View:
        """Report your progress in one line; people see it in the log."""
        run = await self.house.own_run()
        await self.fleet.report(run, text)
        return {"reported": True}

    async def note_knowledge(self, text: str) -> View:
        """Note what the next agent on this task should know: commands, pitfalls, decisions."""
        await jotting.note(await self.house.own_run(), text)
        return {"noted": True}

    async def checkpoint_create(self, text: str) -> View:
        """Save where you are: done, in progress, next. A later run starts with it."""
        await jotting.checkpoint(await self.house.own_run(), text)
        return {"kept": True}

    async def create_task(self, tasks: list[dict[str, Any]]) -> View:
        """Queue tasks for other agents in your repository, as children of yours, all or none.

        Each: title, prompt; optional name, needs (names in this call, or ids), scope, priority
        1-5, base (a commit on the trunk or your branch). Your limits apply: at most your priority,
        attempts and timeout; coder, model and checks only as your task and the owner allow.
        """
        await self.house.own_run()
        repo = await self.house.repo(None)
        drafts = [checked(Draft, {**each, "repo": repo.name}) for each in tasks]
        for coder in filter(None, (draft.coder for draft in drafts)):
            registry.refuse_unknown(coder)
        added = await self.fleet.add(await base.bound(self.fleet, repo, drafts))
        return {"tasks": [briefly.task(task) for task in added]}

    async def read_results(self) -> View:
        """The results of the tasks that yours needs, and of the tasks that you created."""
        run = await self.house.own_run()
        mine = await self.fleet.get(run.task)
        tasks = [*await self.fleet.needs_of(mine), *await self.fleet.children_of(mine)]
        runs = await self.fleet.last_runs(tasks)
        return {
            "tasks": [
                {**briefly.task(task), "result": views.result(runs.get(task.id))} for task in tasks
            ]
        }

    async def _patience(self, run: Run) -> float:
        """How long a question may keep an agent waiting, from the settings of its repo."""
        desk = self.house.desk
        return desk.settings(await desk.repo((await self.fleet.get(run.task)).repo)).answer_s
