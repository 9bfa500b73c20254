"""The toolset `agent`: what an agent of the fleet can do from within its own run."""

from typing import Any, ClassVar

from mcp.server.mcpserver import Context

from codefleet.domain.model import TaskId
from codefleet.domain.signals import Asks
from codefleet.doors.mcp import summaries, views
from codefleet.doors.mcp.checkpoints import Checkpoints
from codefleet.doors.mcp.mail import Mail
from codefleet.doors.mcp.memories import Memories
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.swarms import Blackboards
from codefleet.doors.mcp.toolset import Toolset
from codefleet.fleet.own_run import OwnRun
from codefleet.runner.brief import live_notes

NOT_YET = "Nobody has answered yet. End your turn; the answer comes with your next run."


class OwnBlackboard(Blackboards):
    """The blackboard of the run's swarm."""

    WRITES: ClassVar[tuple[str, ...]] = ("blackboard_post",)


class OwnCheckpoints(Checkpoints):
    """Checkpoints of the run's task."""

    READS: ClassVar[tuple[str, ...]] = ("checkpoint_load",)
    WRITES: ClassVar[tuple[str, ...]] = ("checkpoint_create", "checkpoint_accept")


class OwnMemories(Memories):
    """Memories of the run's repository."""

    READS: ClassVar[tuple[str, ...]] = ("memory_search",)


class OwnMail(Mail):
    """Mail under the handle of the run's task."""

    WRITES: ClassVar[tuple[str, ...]] = ("mail_send", "mail_read")


class Agent(Toolset):
    """Every tool acts for the run whose token the call carries, and for no other."""

    READS = ("read_results",)
    WRITES = (
        *("ask_human", "report_progress", "note_knowledge"),
        "create_task",
    )

    @property
    def own(self) -> OwnRun:
        """The run that is calling."""
        return OwnRun(self.fleet)

    async def ask_human(
        self, question: str, ctx: Context, options: list[str] | None = None
    ) -> View:
        """Ask a human what you cannot find out yourself; give options if there are a few.

        Waits for the answer and returns it. If nobody answers for a long time, `answer` is null:
        end your turn then. Your work is kept, and you continue there once there is an answer.
        """
        texts = tuple(" ".join(option.split()) for option in options or ())
        asked = await self.own.pose(Asks(question.strip(), texts))
        steps, answer = 0, None
        async for seen in self.own.answer_to(asked, await self._patience(asked.task)):
            steps, answer = steps + 1, seen.answer
            await ctx.report_progress(steps, message="waiting for a human")
        told = {"question_id": asked.id, "answer": answer}
        return told if answer else {**told, "now": NOT_YET}

    async def report_progress(self, text: str) -> View:
        """Report your progress in one line; people see it in the log."""
        await self.own.report(text)
        return {"reported": True}

    async def note_knowledge(self, text: str) -> View:
        """Note what the next agent on this task should know: commands, pitfalls, decisions."""
        await live_notes.note(await self.own.run(), text)
        return {"noted": True}

    async def create_task(self, tasks: list[dict[str, Any]]) -> View:
        """Queue tasks for other agents in your repository, as children of yours, all or none.

        Each: title, prompt; optional name, needs (names in this call, or ids), scope, priority
        1-5, base (a commit on the trunk or your branch). Your limits apply: at most your priority,
        attempts and timeout; coder, model and checks only as your task and the owner allow.
        """
        await self.own.run()
        added = await self.fleet.add(await self.server.drafts(tasks, None))
        return {"tasks": [summaries.task(task) for task in added]}

    async def read_results(self) -> View:
        """The results of the tasks that yours needs, and of the tasks that you created."""
        tasks = await self.own.related()
        runs = await self.fleet.last_runs(tasks)
        return {
            "tasks": [
                {**summaries.task(task), "result": views.result(runs.get(task.id))}
                for task in tasks
            ]
        }

    async def _patience(self, task: TaskId) -> float:
        """How long a question may keep an agent waiting, from the settings of its repo."""
        context = self.server.context
        return context.settings(await context.repo((await self.fleet.get(task)).repo)).answer_s
