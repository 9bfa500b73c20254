"""Mail between agents: mail, mail-send, handoffs."""

import json

import click

from codefleet.domain.model import Message
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option, look, say
from codefleet.doors.cli.text import brief, clean, local, table

MAIL = ("MAIL", "AT", "FROM", "READ", "SUBJECT", "TEXT")
HANDOFFS = ("HANDOFF", "AT", "FROM", "READ", "CONTEXT")

handle_argument = click.argument("handle")


@click.command()
@handle_argument
@click.option("--unread", is_flag=True, help="Only what nobody has read yet.")
@json_option
def mail(handle: str, unread: bool, as_json: bool) -> None:
    """Show the mail for an agent; reading it here does not mark it as read."""
    found = look(lambda fleet: fleet.mail(handle, unread_only=unread))
    if as_json:
        show.nouns(found)
    elif found:
        rows = [(*_head(m), clean(m.subject), brief(m.text)) for m in found]
        click.echo(table(MAIL, rows, stretch=(4, 5)))
    else:
        say(f"no mail for {clean(handle)}")


@click.command("mail-send")
@click.argument("sender", metavar="FROM")
@click.argument("to")
@click.argument("body")
@click.argument("subject", default="")
@click.option("--team", metavar="TEAM", help="The team of the one it is for.")
@json_option
def mail_send(
    sender: str, to: str, body: str, subject: str, team: str | None, as_json: bool
) -> None:
    """Send mail from one handle to another: read now if the agent listens, else in its next run.

    It is quoted to the agent as information. To tell an agent what to do, use `fleet send`. If
    nobody has the handle, the next worker with it gets the mail: one of the team that you name.
    """
    sent = call(lambda fleet: fleet.send_mail(to, body, subject=subject, sender=sender, team=team))
    if as_json:
        show.noun(sent)
    else:
        say(_who_gets(sent))


@click.command()
@handle_argument
@json_option
def handoffs(handle: str, as_json: bool) -> None:
    """Show what was handed over to an agent."""
    found = look(lambda fleet: fleet.handoffs(handle))
    if as_json:
        show.nouns(found)
    elif found:
        rows = [(*_head(m), clean(json.dumps(m.context, ensure_ascii=False))) for m in found]
        click.echo(table(HANDOFFS, rows, stretch=(4,)))
    else:
        say(f"nothing was handed over to {clean(handle)}")


def _who_gets(sent: Message) -> str:
    """Who reads the mail, and when."""
    name = clean(sent.to or "")
    if sent.run:
        return f"{name} reads it now"
    if sent.task:
        return f"{name} gets it in the next run"
    if sent.team:
        return f"nobody is {name} now; the next {name} of the team {clean(sent.team)} gets it"
    return f"nobody is {name} now; the next {name} that is in no team gets it (else use --team)"


def _head(message: Message) -> tuple[str, ...]:
    read = "yes" if message.delivered_at else "no"
    return message.id, local(message.sent_at), message.sender or "", read
