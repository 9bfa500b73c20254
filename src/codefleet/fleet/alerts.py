"""What a monitor tells the humans, in the inbox, and what a notifier tells whoever watches."""

from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, NotFound
from codefleet.domain.events import event
from codefleet.domain.model import Alert, AlertId, Event
from codefleet.fleet.verbs import Verbs
from codefleet.ports import Write

LONGEST = 2000


class Alerts(Verbs):
    async def alert(self, text: str, task: str | None = None) -> Alert:
        """Put a line into the inbox, about a task or about none."""
        import secrets  # imported here, because it is slow and few commands need it

        await self.core.permit(Right.ALERT)
        about = await self.core.get(task) if task else None
        team = about.team if about else self.core.team
        now = await self.core.store.now()
        raised = Alert(
            id=AlertId(f"alert-{secrets.token_hex(4)}"),
            team=team,
            task=about.id if about else None,
            text=_usable(text),
            by=str(self.core.actor),
            raised_at=now,
        )
        told = event("alert.raised", now, raised.text, task=about, alert=raised.id, team=team)
        stored = await self.core.write(Write(records=[raised], events=[told]))
        return next(each for each in stored.records if isinstance(each, Alert))

    async def settle_alert(self, ref: str) -> Alert:
        """Take an alert out of the inbox."""
        await self.core.permit(Right.ANSWER)
        found = await self.core.store.records(Alert, ids=[AlertId(ref)], open_only=True)
        if not found:
            raise NotFound(f"no open alert {ref[:80]}", hint="`fleet inbox` shows all of them")
        now = await self.core.store.now()
        settled = found[0].evolve(settled_at=now, version=found[0].version + 1)
        told = event("alert.settled", now, settled.text, alert=settled.id, team=settled.team)
        await self.core.write(Write(records=[settled], events=[told.evolve(task=settled.task)]))
        return settled

    async def notify(self, text: str) -> Event:
        """Tell whoever watches the team, as an event of its log."""
        await self.core.permit(Right.NOTIFY)
        now = await self.core.store.now()
        told = event("team.notified", now, _usable(text), team=self.core.team)
        return (await self.core.write(Write(events=[told]))).events[0]


def _usable(text: str) -> str:
    if not text.strip():
        raise Invalid("this needs a text", hint="say in a sentence what happened")
    if len(text) > LONGEST:
        raise Invalid(f"at most {LONGEST} characters", hint="make it shorter")
    return text.strip()
