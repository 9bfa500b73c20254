"""Mail between agents, by their handles, and handoffs: mail that hands something over.

Whoever has the handle gets it: now if the agent listens, else with its next prompt, quoted.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, NotFound, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Message, Run, Task, TaskId
from codefleet.domain.validation import checked, refuse_deep
from codefleet.fleet import viewer
from codefleet.fleet.broadcasts import Broadcasts
from codefleet.fleet.core import TRIES
from codefleet.fleet.lookup import live_worker, live_workers
from codefleet.fleet.messages import new_message_id, refuse_unsendable
from codefleet.ports import TaskQuery, Write

LARGEST_CONTEXT = 64_000
MOST_MARKED = 100


class Mail(Broadcasts):
    async def send_mail(
        self,
        to: str,
        text: str,
        *,
        subject: str = "",
        sender: str | None = None,
        team: str | None = None,
    ) -> Message:
        """Send mail to whoever has a handle, now or next.

        Handles are unique in a team: without a `team`, it is for a worker at work in any that the
        sender sees, or else for the next one in the sender's team, or in none.
        """
        refuse_unsendable(text)
        said = {"text": self.core.redaction.value(text), "subject": " ".join(subject.split())}
        return await self._mail(to, sender, said, team)

    async def hand_off(
        self,
        to: str,
        context: dict[str, Any],
        *,
        sender: str | None = None,
        team: str | None = None,
    ) -> Message:
        """Hand something over, such as what was done and what is left, with mail."""
        refuse_deep(context)
        if len(msgspec.json.encode(context)) > LARGEST_CONTEXT:
            raise Invalid(
                f"a context may have at most {LARGEST_CONTEXT:,} bytes",
                hint="put long text in a file in the repo, and name the file",
            )
        said = {"text": "", "context": self.core.redaction.value(context)}
        return await self._mail(to, sender, said, team)

    async def mail(self, handle: str | None = None, *, unread_only: bool = False) -> list[Message]:
        """The mail for a handle, without one for your own; the oldest first."""
        return [m for m in await self._inbound(handle, unread_only) if m.context is None]

    async def handoffs(self, handle: str | None = None) -> list[Message]:
        """What was handed over to a handle, without one to your own; the oldest first."""
        return [m for m in await self._inbound(handle, False) if m.context is not None]

    async def mark_mail_read(
        self, ids: Sequence[str], *, handle: str | None = None
    ) -> Sequence[Message]:
        """Mark mail for a handle as read: it is not given to an agent again."""
        access.refuse(self.core.actor, Right.LISTEN)
        if len(ids) > MOST_MARKED:
            raise Invalid(f"at most {MOST_MARKED} at once", hint="mark the others after these")
        who = await viewer.speaker(self.core, handle)
        run = await self.core.asking()
        return [await self._read(each, who, run) for each in dict.fromkeys(ids)]

    async def _inbound(self, handle: str | None, unread_only: bool) -> Sequence[Message]:
        access.refuse(self.core.actor, Right.LISTEN)
        who = await viewer.speaker(self.core, handle)
        sees = (await viewer.viewer(self.core)).sees
        found = await self.core.store.records(Message, of=[who], open_only=unread_only)
        return [message for message in found if sees(message)]

    async def _mail(
        self, to: str, sender: str | None, said: dict[str, Any], team: str | None
    ) -> Message:
        await self.core.permit(Right.TALK)
        by = await viewer.speaker(self.core, sender)
        if team is not None:
            await viewer.refuse_strange(self.core, team)
        step = await self._mailing(to, by, said, team)
        await self.core.write(step)
        (message,) = [it for it in step.records if isinstance(it, Message)]
        return message

    async def _mailing(self, to: str, by: str, said: dict[str, Any], team: str | None) -> Write:
        """The step that sends mail to whoever has a handle, in this team if one is named."""
        now = await self.core.store.now()
        task = await self._addressee_of(viewer.handle(to), team)
        run = await self._run_of(task)
        team = task.team if task else team or (await viewer.viewer(self.core)).team
        sent = {"id": new_message_id(), "sender": by, "to": to, "team": team, "sent_at": now}
        where = {
            "task": task.id if task else None,
            "agent": run.agent if run else "",
            "run": run.id if run and run.listens else None,
        }
        message = checked(Message, {**said, **sent, **where})
        about = message.subject or message.text or "a handoff"
        told = event(
            "message.sent",
            now,
            about,
            task=task,
            message=message.id,
            to=to,
            sender=by,
            team=team,
        )
        return Write(records=[message], events=[told])

    async def _addressee_of(self, to: str, team: str | None = None) -> Task | None:
        """The unfinished task whose agent has this handle, or whose id it is; of this team, if one
        is named."""
        if await live_workers(self.core, to, team):
            return await live_worker(self.core, to, team)
        sees = (await viewer.viewer(self.core)).sees
        found = await self.core.store.tasks(TaskQuery(ids=[TaskId(to)]))
        fits = [task for task in found if sees(task) and team in (None, task.team)]
        return next((task for task in fits if not task.state.is_final), None)

    async def _run_of(self, task: Task | None) -> Run | None:
        if task is None:
            return None
        return next(iter(await self.core.store.runs(tasks=[task.id], live=True)), None)

    async def _read(self, name: str, who: str, run: Run | None) -> Message:
        sees = (await viewer.viewer(self.core)).sees
        for _ in range(TRIES):
            found = await self.core.store.records(Message, ids=[name])
            if not found or found[0].to != who or not sees(found[0]):
                raise NotFound(f"no mail {name[:80]} for {who}", hint=f"`fleet mail {who}`")
            (message,) = found
            if message.delivered_at:
                return message
            now = await self.core.store.now()
            where = {"run": run.id, "task": run.task} if run else {}
            read = message.evolve(delivered_at=now, version=message.version + 1, **where)
            text, team = message.text, message.team
            told = event("message.delivered", now, text, run=run, message=name, team=team)
            try:
                await self.core.write(Write(records=[read], events=[told]))
            except Stale:
                continue
            return read
        raise Stale(f"{name} keeps changing", hint="try again")
