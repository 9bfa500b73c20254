"""The other half of the toolset `commander`: what waits for a decision, and what came out."""

from codefleet.domain.model import Event
from codefleet.domain.words import State
from codefleet.doors.mcp import summaries
from codefleet.doors.mcp.limits import Limit, Line, Lines, Seq
from codefleet.doors.mcp.summaries import View
from codefleet.doors.mcp.toolset import Toolset
from codefleet.ports import TaskQuery
from codefleet.runner import verbs


class Review(Toolset):
    """What the leader of a fleet looks at and decides."""

    READS = ("list_inbox", "review_completed", "show_diff", "read_run_log", "tail_events")
    WRITES = ("answer_question", "land", "reject", "comment_on_work", "collect_garbage")

    async def review_completed(self, count: Limit = 20) -> View:
        """Completed tasks, newest first, with their results."""
        query = TaskQuery(states=[State.COMPLETED], limit=count, newest_first=True)
        tasks = await self.fleet.list(query)
        runs = await self.fleet.last_runs(tasks)
        return {"tasks": [summaries.completed(task, runs.get(task.id)) for task in tasks]}

    async def list_inbox(self) -> View:
        """What waits for a human: questions, permission requests, work to review, logins."""
        return {"items": [each.plain() for each in await self.fleet.inbox()]}

    async def answer_question(self, id: str, answer: str) -> View:
        """Answer an agent's question (its id or its task's, see list_inbox); the task continues."""
        return await self.moved(await self.fleet.answer(id, answer))

    async def land(self, task_id: str, commit: str | None = None) -> View:
        """Approve work in review: it is checked once more and merged onto the trunk.

        What lands is the commit that its run delivered. If its branch has moved since, this is
        refused with the difference; `commit` names the one you want.
        """
        return summaries.task(await verbs.land(self.server.context, task_id, commit, wait=False))

    async def reject(self, task_id: str, reason: str = "") -> View:
        """Send work in review back to an agent, with the reason and all comments on it."""
        return await self.moved(await self.fleet.reject(task_id, reason))

    async def comment_on_work(self, task_id: str, path: str, text: str, line: Line = 0) -> View:
        """Comment on a line of work in review; `reject` gives the agent all comments at once."""
        review = await self.fleet.comment(task_id, text, path, line)
        return {"task_id": review.task, "comments": len(review.comments)}

    async def show_diff(self, task_id: str) -> View:
        """What a task changed, as a diff; a run_id gives the changes of that run alone.

        For work in progress, as it is now.
        """
        return {"task_id": task_id, "diff": await verbs.diff(self.fleet, task_id)}

    async def read_run_log(self, task_id: str, lines: Lines = 80) -> View:
        """The last lines that a task's last agent printed; a run_id names one run of it."""
        return {
            "task_id": task_id,
            "log": await verbs.run_log(self.server.context, task_id, lines),
        }

    async def tail_events(
        self, task_id: str | None = None, after: Seq | None = None, limit: Limit = 50
    ) -> View:
        """Events, oldest first: the last ones, or those after a `seq`.

        Continue with next_after.
        """
        newest = after is None
        found = await self.fleet.events(after=after or 0, task=task_id, limit=limit, newest=newest)
        return {
            "events": [_told(event) for event in found],
            "next_after": found[-1].seq if found else after or 0,
        }

    async def collect_garbage(self, dry_run: bool = True) -> View:
        """Remove idle worktrees, branches of finished tasks and files of old runs.

        Work that is not on the trunk is archived first. `dry_run` only lists what would go.
        """
        removed = verbs.gc(self.server.context, dry_run=dry_run)
        return {"dry_run": dry_run, "removed": [told._asdict() async for told in removed]}


def _told(event: Event) -> View:
    """An event without its empty fields."""
    return {name: value for name, value in event.plain().items() if value not in (None, "", {})}
