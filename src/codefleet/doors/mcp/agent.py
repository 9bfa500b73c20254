"""The toolset `agent`: what an agent of the fleet can do from within its own run."""

from typing import Any

from codefleet.coders import registry
from codefleet.domain.model import Draft
from codefleet.doors.mcp import briefly, views
from codefleet.doors.mcp.house import Toolset, View
from codefleet.runner import jotting


class OwnRun(Toolset):
    """Every tool acts for the run whose token the server holds, and for no other."""

    READS = ("read_results",)
    WRITES = (
        *("ask_human", "report_progress", "note_knowledge"),
        *("checkpoint_create", "create_task"),
    )

    async def ask_human(self, question: str, options: list[str] | None = None) -> View:
        """Ask a human what you cannot find out yourself, with options if there are a few.

        Then end your turn: your work is kept, and you go on in the same place with the answer.
        """
        run = await self.house.own_run()
        await jotting.ask(run, question, options or ())
        return {"asked": True, "now": "End your turn. You will go on when a human has answered."}

    async def report_progress(self, text: str) -> View:
        """Say in a line how far you are; people see it in the log."""
        run = await self.house.own_run()
        await self.fleet.report(run, text)
        return {"reported": True}

    async def note_knowledge(self, text: str) -> View:
        """Keep what the next agent on this task should know: commands, traps, decisions."""
        await jotting.note(await self.house.own_run(), text)
        return {"noted": True}

    async def checkpoint_create(self, text: str) -> View:
        """Keep where you stand: done, under way, next. A later run begins with it."""
        await jotting.checkpoint(await self.house.own_run(), text)
        return {"kept": True}

    async def create_task(self, tasks: list[dict[str, Any]]) -> View:
        """Queue tasks for other agents in your repository, as children of yours, all or none.

        Each: title, prompt; optional name, needs (names in this call, or ids), scope, checks,
        priority 1-5, coder. How deep children may have children is limited.
        """
        run = await self.house.own_run()
        repo = (await self.fleet.get(run.task)).repo
        drafts = [Draft.model_validate({**each, "repo": repo}) for each in tasks]
        for coder in filter(None, (draft.coder for draft in drafts)):
            registry.refuse_unknown(coder)
        added = await self.fleet.add(drafts, by=run)
        return {"tasks": [briefly.task(task) for task in added]}

    async def read_results(self) -> View:
        """What the tasks that yours needs, and the tasks that you created, have come to."""
        run = await self.house.own_run()
        mine = await self.fleet.get(run.task)
        tasks = [*await self.fleet.needs_of(mine), *await self.fleet.children_of(mine)]
        runs = await self.house.last_runs(tasks)
        return {
            "tasks": [
                {**briefly.task(task), "result": views.result(runs.get(task.id))} for task in tasks
            ]
        }
