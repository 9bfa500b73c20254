"""Checkpoints: written by an agent, for another to go on from its work; acceptance.py does that."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, NotFound, Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Checkpoint, CheckpointStatus
from codefleet.domain.validation import checked, word
from codefleet.fleet import viewer
from codefleet.fleet.core import TRIES
from codefleet.fleet.mail import Mail
from codefleet.ports import TaskQuery, Write

LARGEST = 64_000
MOST_SHOWN = 200


class Checkpoints(Mail):
    async def add_checkpoint(
        self, goal: str, now: str, *, author: str | None = None, **parts: Any
    ) -> Checkpoint:
        """Write down what an agent knows, for whoever goes on: `to`, if that is named.

        `parts` are the other fields of a checkpoint, such as `test`, `next` and `blockers`.
        """
        import secrets  # imported here, because it is slow and few commands need it

        await self.core.permit(Right.TALK)
        by = await viewer.speaker(self.core, author)
        said = {name: value for name, value in parts.items() if value is not None}
        at = await self.core.store.now()
        own = {"id": f"k-{secrets.token_hex(4)}", "author": by, "created_at": at}
        made = checked(
            Checkpoint, {**said, "goal": goal, "now": now, **own, **await self._origin(by)}
        )
        _refuse_large(made)
        text = f"{by}: {made.goal}"
        told = event(
            "checkpoint.created",
            at,
            text,
            checkpoint=made.id,
            sender=by,
            to=made.to,
            team=made.team,
        )
        stored = await self.core.write(Write(records=[made], events=[told]))
        if made.to and made.to != by:
            note = f"I left you the checkpoint {made.id}: {made.goal}"
            await self._mail(made.to, by, {"text": note, "subject": "checkpoint"}, made.team)
        return _checkpoint(stored)

    async def checkpoint(self, ref: str) -> Checkpoint:
        """The checkpoint with this id."""
        access.refuse(self.core.actor, Right.LISTEN)
        sees = (await viewer.viewer(self.core)).sees
        found = [it for it in await self.core.store.records(Checkpoint, ids=[ref]) if sees(it)]
        if not found:
            raise NotFound(f"no checkpoint {ref[:80]}", hint="`fleet checkpoints HANDLE`")
        return found[0]

    async def checkpoints(
        self, handle: str | None = None, *, status: str | None = None, limit: int = MOST_SHOWN
    ) -> Sequence[Checkpoint]:
        """What a handle wrote or is for it, without one of your own; the newest first."""
        access.refuse(self.core.actor, Right.LISTEN)
        wanted = word(status, CheckpointStatus)
        if not 0 < limit <= MOST_SHOWN:
            raise Invalid(f"at most {MOST_SHOWN} at once", hint=f"ask for 1 to {MOST_SHOWN}")
        who = handle or await viewer.own_handle(self.core)
        written = [task.id for task in await self.core.store.tasks(TaskQuery(handle=who))]
        found = {
            each.id: each
            for each in (
                *await self.core.store.records(Checkpoint, of=[who]),
                *await self.core.store.records(Checkpoint, tasks=written),
            )
        }
        sees = (await viewer.viewer(self.core)).sees
        fits = [it for it in found.values() if sees(it) and wanted in (None, it.status)]
        return sorted(fits, key=lambda it: it.created_at, reverse=True)[:limit]

    async def reject_checkpoint(self, ref: str, why: str = "") -> Checkpoint:
        """Say that nobody goes on from a checkpoint."""
        await self.core.permit(Right.TALK)
        who = await viewer.own_handle(self.core)
        for _ in range(TRIES):
            step = await self._deciding(
                await self._pending(ref, who), CheckpointStatus.REJECTED, why
            )
            with suppress(Stale):
                return _checkpoint(await self.core.write(step))
        raise Stale(f"{ref} keeps changing", hint="try again")

    async def _origin(self, author: str) -> dict[str, Any]:
        """The author's task and run, and the team."""
        found = await self.core.asking()
        task = await self.core.get(found.task) if found else None
        if task is None:
            sees = (await viewer.viewer(self.core)).sees
            asked = TaskQuery(handle=author, newest_first=True)
            theirs = [each for each in await self.core.store.tasks(asked) if sees(each)]
            task = theirs[0] if theirs else None
        if task is None:
            return {"team": (await viewer.viewer(self.core)).team}
        runs = await self.core.store.runs(tasks=[task.id])
        return {"task": task.id, "run": runs[-1].id if runs else None, "team": task.team}

    async def _pending(self, ref: str, who: str) -> Checkpoint:
        """A checkpoint that `who` may decide about, and about which nobody has decided yet."""
        found = await self.checkpoint(ref)
        is_theirs = found.to is None or who in (found.to, found.author)
        if not is_theirs and not viewer.plans(self.core.actor):
            raise Refused(f"{ref} is for {found.to}", hint="checkpoint_list shows yours")
        if found.status is not CheckpointStatus.PENDING:
            raise Refused(f"{ref} is already {found.status}", hint="write a new checkpoint")
        return found

    async def _deciding(self, found: Checkpoint, status: CheckpointStatus, outcome: str) -> Write:
        """The step that decides about a checkpoint."""
        now = await self.core.store.now()
        decided = found.evolve(status=status, outcome=outcome, version=found.version + 1)
        is_accepted = status is CheckpointStatus.ACCEPTED
        about: dict[str, Any] = {"checkpoint": found.id, "team": found.team}
        told = (
            event("checkpoint.accepted", now, outcome, **about)
            if is_accepted
            else event("checkpoint.rejected", now, outcome, **about)
        )
        return Write(records=[decided], events=[told])


def _refuse_large(checkpoint: Checkpoint) -> None:
    if len(msgspec.json.encode(checkpoint)) > LARGEST:
        raise Invalid(
            f"a checkpoint may have at most {LARGEST:,} bytes", hint="say only what is needed"
        )


def _checkpoint(step: Write) -> Checkpoint:
    (found,) = [record for record in step.records if isinstance(record, Checkpoint)]
    return found
