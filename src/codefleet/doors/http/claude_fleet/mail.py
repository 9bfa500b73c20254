"""`/mail` and `/handoffs`: messages between handles."""

from collections.abc import Sequence
from typing import Any

from codefleet.domain.model import Message
from codefleet.domain.noun import Noun
from codefleet.doors.http.claude_fleet.payload import Settled, maybe_milliseconds, milliseconds
from codefleet.fleet import Fleet


class MailMessage(Noun, rename="camel"):
    """Mail from one handle to another."""

    id: str
    from_handle: str
    to_handle: str
    subject: str | None
    body: str
    read_at: int | None
    created_at: int


class Handoff(Noun, rename="camel"):
    """What one handle hands over to another."""

    id: str
    from_handle: str
    to_handle: str
    context: dict[str, Any]
    accepted_at: int | None
    created_at: int


async def send_mail(
    fleet: Fleet,
    from_: str,
    to: str,
    body: str,
    subject: str | None = None,
    team_name: str | None = None,
) -> MailMessage:
    """Send mail to whoever has a handle, now or next."""
    about = subject or ""
    return _mail(await fleet.send_mail(to, body, subject=about, sender=from_, team=team_name))


async def sent_mail(fleet: Fleet, made: Sequence[str]) -> MailMessage:
    """The mail that a request sent."""
    return _mail(await fleet.message(made[0]))


async def mail(fleet: Fleet, handle: str) -> Sequence[MailMessage]:
    """All mail for a handle, the oldest first."""
    return [_mail(each) for each in await fleet.mail(handle)]


async def unread_mail(fleet: Fleet, handle: str) -> Sequence[MailMessage]:
    """The mail for a handle that nobody has read."""
    return [_mail(each) for each in await fleet.mail(handle, unread_only=True)]


async def mark_mail_read(fleet: Fleet, ref: str) -> Settled:
    """Mark mail as read: it is not given to an agent again."""
    message = await fleet.message(ref)
    await fleet.mark_mail_read([message.id], handle=message.to)
    return Settled(id=message.id)


async def hand_off(
    fleet: Fleet, from_: str, to: str, context: dict[str, Any], team_name: str | None = None
) -> Handoff:
    """Hand something over, such as what was done and what is left, with mail."""
    return _handoff(await fleet.hand_off(to, context, sender=from_, team=team_name))


async def handed_off(fleet: Fleet, made: Sequence[str]) -> Handoff:
    """What a request handed over."""
    return _handoff(await fleet.message(made[0]))


async def handoffs(fleet: Fleet, handle: str) -> Sequence[Handoff]:
    """What was handed over to a handle, the oldest first."""
    return [_handoff(each) for each in await fleet.handoffs(handle)]


def _mail(message: Message) -> MailMessage:
    return MailMessage(
        id=message.id,
        from_handle=message.sender or "",
        to_handle=message.to or "",
        subject=message.subject or None,
        body=message.text,
        read_at=maybe_milliseconds(message.delivered_at),
        created_at=milliseconds(message.sent_at),
    )


def _handoff(message: Message) -> Handoff:
    return Handoff(
        id=message.id,
        from_handle=message.sender or "",
        to_handle=message.to or "",
        context=message.context or {},
        accepted_at=maybe_milliseconds(message.delivered_at),
        created_at=milliseconds(message.sent_at),
    )
