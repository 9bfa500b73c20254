"""Teams: who belongs to one, which tokens its members hold, and how new members join."""

from datetime import datetime

from codefleet.domain.ids import AlertId, InviteId, TaskId, TokenId
from codefleet.domain.noun import Instant, Name, Natural, Record
from codefleet.domain.words import Role

UID_LENGTH = 24


class Team(Record):
    """The namespace that members, tokens and tasks belong to.

    No team sees anything of another.
    """

    name: Name
    repos: tuple[str, ...] = ()
    """The repositories that it may use; empty means all."""
    created_at: Instant
    version: Natural = 0

    def may_use(self, repo: str) -> bool:
        return not self.repos or repo in self.repos


class Member(Record):
    """Somebody, or something, that works in a team."""

    team: Name
    handle: Name
    role: Role
    invite: InviteId | None = None
    """The invite that it joined with, which lets it join again."""
    joined_at: Instant
    version: Natural = 0

    @property
    def id(self) -> str:
        """What names it in the whole fleet."""
        return member_id(self.team, self.handle)

    @property
    def uid(self) -> str:
        """The id that claude-fleet gives to the same handle of the same team."""
        return uid(self.team, self.handle)


class Token(Record):
    """What the fleet knows about a token that it has signed; the text itself is not stored."""

    id: TokenId
    team: Name
    handle: Name
    role: Role
    created_at: Instant
    expires_at: Instant
    revoked_at: Instant | None = None
    key: str = ""
    """The id of the key that signed it; the key is in the home of the machine that did."""
    text_hash: str = ""
    """SHA-256 of the text, in hexadecimal."""
    version: Natural = 0

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and now < self.expires_at


class Invite(Record):
    """Permission to join a team with a role, for whoever knows the secret."""

    id: InviteId
    team: Name
    role: Role
    secret_hash: str
    """SHA-256 of the secret, in hexadecimal."""
    uses: Natural
    """How many more members may join with it."""
    created_at: Instant
    expires_at: Instant
    version: Natural = 0

    def is_open(self, now: datetime) -> bool:
        return self.uses > 0 and now < self.expires_at


class Alert(Record):
    """A line that a monitor put into the inbox, for humans to see and settle."""

    id: AlertId
    team: Name | None = None
    task: TaskId | None = None
    text: str
    by: str
    """Who raised it, as `Event.by` says it."""
    raised_at: Instant
    settled_at: Instant | None = None
    version: Natural = 0


def member_id(team: str, handle: str) -> str:
    """What names a member in the whole fleet."""
    return f"{handle}@{team}"


def uid(team: str, handle: str) -> str:
    """The id that claude-fleet gives to this handle of this team."""
    from hashlib import sha256  # imported here, because few commands need it

    return sha256(f"{team}:{handle}".encode()).hexdigest()[:UID_LENGTH]
