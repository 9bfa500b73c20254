"""Accepting a checkpoint: another agent goes on from its author's work. All of it is one write."""

from typing import NamedTuple

from codefleet.domain.access import AgentOf, Right
from codefleet.domain.errors import Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Checkpoint, CheckpointStatus, Task
from codefleet.domain.noun import Noun
from codefleet.domain.quoting import quoted
from codefleet.domain.run import last_made
from codefleet.domain.words import State
from codefleet.fleet import viewer
from codefleet.fleet.checkpoints import Checkpoints
from codefleet.fleet.core import TRIES
from codefleet.ports import Write


class Acceptance(Noun):
    """An accepted checkpoint: the task that goes on, and the commit that it goes on from.

    Without a commit, the author's work is on the trunk, or there is none.
    """

    checkpoint: Checkpoint
    task: Task | None = None
    commit: str | None = None


class Left(NamedTuple):
    """What the author left: its task, if it had one, and its last commit, if that is not on the
    trunk."""

    task: Task | None = None
    commit: str | None = None

    @property
    def where(self) -> str:
        """Where the work is, for an agent that starts from it."""
        if self.commit:
            return "its work is in this folder"
        return "its work is on the trunk" if self.task and self.task.landed else "it left no commit"


class Acceptances(Checkpoints):
    async def accept_checkpoint(self, ref: str, by: str | None = None) -> Acceptance:
        """Let the agent `by` go on from a checkpoint, and from its author's commits.

        An agent at work gets the commit to merge. A worker that has not started will start there.
        Otherwise a worker with that handle is spawned there. The author must have ended; a task of
        the author that only waits is cancelled, because its work goes on here.
        """
        await self.core.permit(Right.TALK)
        who = await viewer.speaker(self.core, by)
        if await self._addressee_of(who, (await self.checkpoint(ref)).team) is None:
            await self.core.permit(Right.SPAWN)
        for _ in range(TRIES):
            found = await self._pending(ref, who)
            try:
                return await self._accept(found, who)
            except Stale:  # somebody else decided, or the author's task has changed
                continue
        raise Stale(f"{ref} keeps changing", hint="try again")

    async def _accept(self, checkpoint: Checkpoint, who: str) -> Acceptance:
        left = await self._left(checkpoint)
        heir = await self._addressee_of(who, checkpoint.team)
        _refuse_unfit(heir, left)
        going = await (
            self._told(heir, checkpoint, left)
            if heir and heir.runs
            else self._started(heir, checkpoint, left)
            if heir
            else self._spawned(who, checkpoint, left)
        )
        ending = await self._ending(left)
        deciding = await self._deciding(checkpoint, CheckpointStatus.ACCEPTED, f"by {who}")
        whole = going.along_with(ending).along_with(deciding)
        stored = await self.core.write(whole, verbatim=heir.note if heir else "")
        (accepted,) = [it for it in stored.records if isinstance(it, Checkpoint)]
        task = stored.tasks[0] if going.tasks else heir
        return Acceptance(checkpoint=accepted, task=task, commit=left.commit)

    async def _left(self, checkpoint: Checkpoint) -> Left:
        """What the author left; refused while a run of its task is live, which may add to it."""
        if checkpoint.task is None:
            return Left()
        task = await self.core.get(checkpoint.task)
        runs = await self.core.store.runs(tasks=[task.id])
        for run in runs:
            if run.is_live:
                raise _still_at_work(checkpoint.author, task, run.id)
        made = None if task.landed else last_made(runs)
        return Left(task, made.made if made else None)

    async def _ending(self, left: Left) -> Write:
        """Cancel the author's task if it only waits. Whoever may go on from it may do that."""
        if left.task is None or left.task.state.is_final or left.task.state is State.REVIEW:
            return Write()
        return await self._cancelling(left.task)

    async def _told(self, heir: Task, checkpoint: Checkpoint, left: Left) -> Write:
        """Mail for an agent that has started; one that accepts by itself has the answer."""
        if isinstance(self.core.actor, AgentOf):
            return Write()
        where = f"\n\nIts work is the commit {left.commit}: merge it." if left.commit else ""
        said = {"text": checkpoint.text() + where, "subject": "checkpoint"}
        return await self._mailing(heir.handle or heir.id, checkpoint.author, said, heir.team)

    async def _started(self, heir: Task, checkpoint: Checkpoint, left: Left) -> Write:
        """Let a task that has not started begin with the checkpoint, and from its commit."""
        now = await self.core.store.now()
        prompt = f"{heir.prompt}\n\n{_prompt(checkpoint, left)}"
        there = {"prompt": prompt, "base": left.commit or heir.base}
        begun = heir.evolve(**there, version=heir.version + 1, updated_at=now)
        return Write(tasks=[begun], events=[event("task.edited", now, "base, prompt", task=heir)])

    async def _spawned(self, who: str, checkpoint: Checkpoint, left: Left) -> Write:
        """Put a worker to work there, for the team of the checkpoint."""
        if isinstance(self.core.actor, AgentOf):
            raise Refused(f"the task of {who} is over", hint="end your turn")
        draft = self._worker(
            who,
            _prompt(checkpoint, left),
            title=f"Go on: {checkpoint.goal}"[:80],
            repo=left.task.repo if left.task else None,
            team=checkpoint.team,
        )
        adding = await self._adding([draft])
        there = [task.evolve(base=left.commit) for task in adding.tasks]
        return adding._replace(tasks=there)


def _still_at_work(author: str, task: Task, run: str) -> Refused:
    if task.state.is_final:
        return Refused(
            f"{author} is still being stopped, and its work is not archived yet",
            hint=f"wait until the run {run} has ended; that needs a runner",
        )
    return Refused(
        f"{author} still works on {task.id}",
        hint=f"wait until it ends, or dismiss it: `fleet dismiss {author}`",
    )


def _refuse_unfit(heir: Task | None, left: Left) -> None:
    """Refuse one that cannot go on: the author itself, or one that works in another repository."""
    if heir is None or left.task is None:
        return
    if heir.id == left.task.id:
        raise Refused(
            f"{heir.id} wrote this itself, and goes on anyway",
            hint="let another handle accept it, or dismiss the author first",
        )
    if left.commit and heir.repo != left.task.repo:
        raise Refused(
            f"{heir.id} works in {heir.repo}, but this work is in {left.task.repo}",
            hint=f"let a worker of {left.task.repo} accept it, or a handle that nobody has",
        )


def _prompt(checkpoint: Checkpoint, left: Left) -> str:
    return (
        f"Go on where the agent {checkpoint.author} stopped; {left.where}. What it left for you:\n"
        f"{quoted(checkpoint.text())}"
    )
