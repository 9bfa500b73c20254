"""Swarms and their blackboards: swarms, swarm-create, swarm-kill, blackboard, blackboard-post."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Post, Swarm
from codefleet.doors.cli import show
from codefleet.doors.cli.call import call, json_option, look, say
from codefleet.doors.cli.kinds import how_many
from codefleet.doors.cli.text import clean, count, local, table

if TYPE_CHECKING:
    from codefleet.fleet import Fleet

SWARMS = ("SWARM", "NAME", "AGENTS", "CREATED", "DESCRIPTION")
POSTS = ("POST", "AT", "PRIORITY", "TYPE", "FROM", "TO", "PAYLOAD")

swarm_argument = click.argument("swarm")


@click.command()
@json_option
def swarms(as_json: bool) -> None:
    """Show the swarms: how many agents each may have at work, and which."""

    async def read(fleet: "Fleet") -> list[tuple[Swarm, Sequence[str]]]:
        members = [(worker.swarm, worker.handle) for worker in await fleet.workers()]
        return [
            (each, [handle for swarm, handle in members if swarm == each.id])
            for each in await fleet.swarms()
        ]

    found = look(read)
    if as_json:
        show.data([{**swarm.plain(), "agents": agents} for swarm, agents in found])
    elif found:
        click.echo(table(SWARMS, [_swarm(*each) for each in found], stretch=(2, 4)))
    else:
        say("no swarms; `fleet swarm-create NAME MAX` creates one")


@click.command("swarm-create")
@click.argument("name")
@click.argument("max_agents", metavar="MAX", type=click.IntRange(1, 100), default=10)
@click.option("-d", "--description", default="", help="What it is for.")
@json_option
def swarm_create(name: str, max_agents: int, description: str, as_json: bool) -> None:
    """Create a swarm: a group of agents with a blackboard, of which at most MAX work at once."""
    made = call(
        lambda fleet: fleet.create_swarm(name, description=description, max_agents=max_agents)
    )
    if as_json:
        show.noun(made)
    else:
        click.echo(f"{made.id}  {clean(made.name)}")


@click.command("swarm-kill")
@swarm_argument
@json_option
def swarm_kill(swarm: str, as_json: bool) -> None:
    """End a swarm: its agents stop, their work is kept, and what waits is cancelled."""
    stopped = call(lambda fleet: fleet.kill_swarm(swarm))
    if as_json:
        show.nouns(stopped)
    else:
        say(f"{clean(swarm)} is killed; {count(len(stopped), 'task')} cancelled")


@click.command()
@swarm_argument
@click.option("--reader", metavar="HANDLE", help="Only what this reader may see.")
@click.option("--unread", is_flag=True, help="Only what the reader has not read.")
@click.option("--type", "kind", metavar="TYPE", help="Only posts of this type.")
@click.option("-n", "limit", type=how_many, default=100, show_default=True, help="At most so many.")
@json_option
def blackboard(
    swarm: str, reader: str | None, unread: bool, kind: str | None, limit: int, as_json: bool
) -> None:
    """Show a swarm's blackboard, the most urgent posts first."""
    found = look(
        lambda fleet: fleet.read_posts(
            swarm, reader=reader, type=kind, unread_only=unread, limit=limit
        )
    )
    if as_json:
        show.nouns(found)
    elif found:
        click.echo(table(POSTS, [_post(each) for each in found], stretch=(6,)))
    else:
        say("nothing is on the blackboard")


@click.command("blackboard-post")
@swarm_argument
@click.argument("sender")
@click.argument("kind", metavar="TYPE")
@click.argument("payload")
@click.option("--to", "target", metavar="HANDLE", help="Only for this reader.")
@click.option("--priority", default="normal", show_default=True, help="low to critical.")
@json_option
def blackboard_post(
    swarm: str,
    sender: str,
    kind: str,
    payload: str,
    target: str | None,
    priority: str,
    as_json: bool,
) -> None:
    """Post a JSON object on a swarm's blackboard.

    TYPE is request, response, status, directive or checkpoint.
    """
    said = _object(payload)
    made = call(
        lambda fleet: fleet.post(swarm, kind, said, sender=sender, target=target, priority=priority)
    )
    if as_json:
        show.noun(made)
    else:
        click.echo(made.id)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Invalid("the payload is not a JSON object", hint="""such as '{"done": "the API"}'""")
    return found


def _swarm(swarm: Swarm, agents: Sequence[str]) -> tuple[str, ...]:
    members = f"{len(agents)} of {swarm.max_agents}"
    named = f"{members}: {', '.join(agents)}" if agents else members
    return swarm.id, clean(swarm.name), named, local(swarm.created_at), clean(swarm.description)


def _post(post: Post) -> tuple[str, ...]:
    payload = clean(json.dumps(post.payload, ensure_ascii=False))
    who = (post.sender, post.target or "")
    return post.id, local(post.posted_at), post.priority, post.type, *who, payload
