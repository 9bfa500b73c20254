"""The toolsets `team` and `agent`: checkpoints."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from codefleet.domain.errors import Invalid
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.toolset import Toolset
from codefleet.fleet.own_run import OwnRun
from codefleet.runner.brief import live_notes

Status = Literal["pending", "accepted", "rejected"]
Limit = Annotated[int, Field(ge=1, le=200)]


class Checkpoints(Toolset):
    """What an agent knows, for whoever goes on."""

    READS: ClassVar[tuple[str, ...]] = ("checkpoint_load", "checkpoint_list")
    WRITES: ClassVar[tuple[str, ...]] = (
        *("checkpoint_create", "checkpoint_accept", "checkpoint_reject"),
    )

    async def checkpoint_create(
        self,
        text: str | None = None,
        goal: str | None = None,
        now: str | None = None,
        test: str | None = None,
        done_this_session: list[dict[str, Any]] | None = None,
        blockers: list[str] | None = None,
        questions: list[str] | None = None,
        next: list[str] | None = None,
        to_handle: str | None = None,
    ) -> View:
        """Save where you are: done, in progress, next. A later run of your task starts with it.

        With `goal` and `now` instead of `text`, others can go on from it too: to_handle, or anyone.
        """
        run = await self.fleet.asking()
        if text is not None and goal is None and now is None:
            await live_notes.checkpoint(await OwnRun(self.fleet).run(), text)
            return {"kept": True}
        if goal is None or now is None:
            raise Invalid("a checkpoint needs a goal and a now", hint="or, for your own task, text")
        made = await self.fleet.add_checkpoint(
            goal,
            now,
            author=self.server.handle,
            test=test,
            done_this_session=done_this_session,
            blockers=blockers,
            questions=questions,
            next=next,
            to=to_handle,
        )
        if run:
            await live_notes.checkpoint(run, made.text())
        return {"kept": True, "checkpoint_id": made.id}

    async def checkpoint_load(self, checkpoint_id: str | None = None, latest: bool = True) -> View:
        """A checkpoint by its id, or the latest that you wrote or that is for you."""
        if checkpoint_id is not None:
            return (await self.fleet.checkpoint(checkpoint_id)).plain()
        found = await self.fleet.checkpoints(await self.own_handle(), limit=1)
        return {"checkpoint": found[0].plain() if found else None}

    async def checkpoint_list(self, status: Status | None = None, limit: Limit = 20) -> View:
        """The checkpoints that you wrote or that are for you, the newest first."""
        found = await self.fleet.checkpoints(await self.own_handle(), status=status, limit=limit)
        return {"checkpoints": [each.plain() for each in found]}

    async def checkpoint_accept(self, checkpoint_id: str) -> View:
        """Go on from another agent's checkpoint, once that agent has ended.

        At work, you get the `commit` with its work: merge it. Otherwise a worker with your handle
        starts there.
        """
        done = await self.fleet.accept_checkpoint(checkpoint_id, self.server.handle)
        task = done.task.id if done.task else None
        return {"task_id": task, "commit": done.commit, "text": done.checkpoint.text()}

    async def checkpoint_reject(self, checkpoint_id: str, reason: str = "") -> View:
        """Say that nobody goes on from a checkpoint, and why."""
        return (await self.fleet.reject_checkpoint(checkpoint_id, reason)).plain()
