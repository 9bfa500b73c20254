"""Every noun that stores keep, described once. Writing, reading, export, import, moving and erasing
follow from this table.

Tasks, runs, settings and events have statements and code of their own. All others are records: a
row is a key, a version and the noun's JSON, from which the database itself computes the columns to
find it by. The statements for records are templates in queries.sql. To add a record, add its class
to the model, a line here, and a migration with its table to every engine.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from codefleet.domain.model import (
    Alert,
    Checkpoint,
    Conflict,
    Event,
    FileClaims,
    Invite,
    Lane,
    Member,
    Memory,
    Message,
    Post,
    Question,
    Receipt,
    Repo,
    Rest,
    Review,
    Run,
    Runner,
    Setting,
    Swarm,
    Task,
    Team,
    Token,
    Workflow,
)
from codefleet.domain.noun import Noun, Record
from codefleet.store.events import event_json


class Kind(NamedTuple):
    """How a noun is kept."""

    word: str
    noun: type[Noun]
    table: str
    key: str = "id"
    """The field that names it; the column is always `id`."""
    order: str = "place"
    """The columns it is listed by."""
    task: str | None = None
    """The column with the task it belongs to."""
    owner: str | None = None
    """The column with what else it belongs to: the swarm of a post, whom a message is for."""
    closed: str | None = None
    """The column with the time at which it was dealt with; empty while it is open."""
    began: str | None = None
    """The column with the time from which it counts."""
    team_in: str | None = None
    """The field with the team it belongs to."""
    task_in: str | None = None
    """The field with the task whose team it belongs to, unless `team_in` has one."""
    tasks_in: str | None = None
    """The field with several such tasks: it belongs to a team if all of them do."""
    is_exported: bool = True
    moves: bool = True
    """Does it move with its fleet to another store?"""
    listed_by: tuple[str, ...] = ()
    """The statements that list all of them; only for nouns that are not records."""

    @property
    def listing(self) -> tuple[str, ...]:
        """The statements that, joined, list all of them in order."""
        return self.listed_by or (self.table, f"{self.table}_in_order")

    @property
    def as_json(self) -> Callable[..., str]:
        """The JSON of a noun from a row of that listing."""
        return _AS_JSON.get(self.noun, str)

    @property
    def is_of_a_team(self) -> bool:
        """Can it belong to a team? Otherwise it is the fleet's."""
        return bool(self.team_in or self.task_in or self.tasks_in)

    @property
    def slots(self) -> dict[str, str]:
        """What fills a template, without what the noun does not have."""
        columns = {
            "task": self.task,
            "owner": self.owner,
            "closed": self.closed,
            "began": self.began,
            "team_in": self.team_in,
            "task_in": self.task_in,
            "tasks_in": self.tasks_in,
        }
        given = {name: column for name, column in columns.items() if column}
        return {"noun": self.word, "nouns": self.table, "order": self.order, **given}


KINDS = (
    Kind("repo", Repo, "repos", key="name", order="id"),
    Kind("task", Task, "tasks", listed_by=("all_tasks",)),
    Kind("run", Run, "runs", listed_by=("runs", "oldest_run_first")),
    Kind("question", Question, "questions", task="task", closed="answered_at", task_in="task"),
    Kind("review", Review, "reviews", task="task", closed="decided_at", task_in="task"),
    Kind(
        "conflict",
        Conflict,
        "conflicts",
        order="found_at, place",
        began="found_at",
        tasks_in="tasks",
    ),
    Kind(
        *("message", Message, "messages"),
        owner="recipient",
        closed="delivered_at",
        team_in="team",
        task_in="task",
    ),
    Kind("workflow", Workflow, "workflows", tasks_in="tasks"),
    Kind("team", Team, "teams", key="name", order="id", team_in="name"),
    Kind("member", Member, "members", order="id", team_in="team"),
    Kind("alert", Alert, "alerts", closed="settled_at", team_in="team"),
    Kind("swarm", Swarm, "swarms", closed="killed_at", team_in="team"),
    Kind("post", Post, "posts", owner="swarm", closed="archived_at", team_in="team"),
    Kind("checkpoint", Checkpoint, "checkpoints", task="task", owner="reader", team_in="team"),
    Kind("memory", Memory, "memories", owner="repo", team_in="team"),
    Kind("file_claims", FileClaims, "file_claims", order="id", team_in="team"),
    Kind("setting", Setting, "settings", listed_by=("settings",)),
    Kind("event", Event, "events", listed_by=("events", "first_events")),
    Kind(
        *("receipt", Receipt, "receipts"),
        order="at, place",
        began="at",
        team_in="team",
        is_exported=False,
    ),
    # Not in an export: loading an old one would make revoked tokens valid again.
    Kind("token", Token, "tokens", team_in="team", is_exported=False),
    Kind("invite", Invite, "invites", team_in="team", is_exported=False),
    Kind("lane", Lane, "lanes", key="repo", order="id", is_exported=False),
    Kind("rest", Rest, "rests", key="account", order="id", is_exported=False),
    Kind("runner", Runner, "runners", order="id", is_exported=False, moves=False),
)
"""In the order of an export."""

RECORDS = tuple(kind for kind in KINDS if issubclass(kind.noun, Record))
_AS_JSON: dict[type[Noun], Callable[..., str]] = {
    Event: event_json,
    Setting: lambda name, value: Setting(name=name, value=value).json(),
}
_BY_CLASS = {kind.noun: kind for kind in KINDS}


def kind_of(noun: type[Noun]) -> Kind:
    """How nouns of this class are kept."""
    return _BY_CLASS[noun]


def leaving(*, moving: bool) -> list[Kind]:
    """What an export contains, or all that moves with a fleet."""
    return [kind for kind in KINDS if (kind.moves if moving else kind.is_exported)]


def key_of(record: Record) -> str:
    """What names a record among those of its class."""
    key: str = getattr(record, kind_of(type(record)).key)
    return key


def row(record: Record) -> dict[str, Any]:
    """The row of a record, the same on every engine."""
    return {"id": key_of(record), "version": record.version, "body": record.json()}
