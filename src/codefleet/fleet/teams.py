"""Teams: create, list, invite, join, remove."""

import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta

from codefleet.domain.access import Holder, Right
from codefleet.domain.errors import Duplicate, Invalid, NotFound, Refused, Stale, Unauthenticated
from codefleet.domain.events import event
from codefleet.domain.model import (
    Alert,
    Checkpoint,
    FileClaims,
    Invite,
    InviteId,
    Member,
    Memory,
    Message,
    Post,
    Receipt,
    Repo,
    Swarm,
    Team,
    Token,
)
from codefleet.domain.noun import Record, each_once
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.validation import checked
from codefleet.domain.words import UNFINISHED, Role
from codefleet.fleet import key_files, task_teams
from codefleet.fleet.core import TRIES
from codefleet.fleet.team_tokens import Issued, TeamTokens, refuse_expired, revoking, untold
from codefleet.ports import TaskQuery, Write

INVITE_TTL = timedelta(days=1)
LEFT_BEHIND: Sequence[type[Record]] = [
    *(Alert, Swarm, Post, Checkpoint, Memory, FileClaims, Message, Receipt, Token)
]
"""What still names a team after it was removed, besides its tasks and events."""
UNKNOWN_TEAM = ""
"""Under this name, wrong secrets for teams that do not exist are counted."""


class Teams(TeamTokens):
    async def create_team(self, name: str, repos: Sequence[str] = ()) -> Team:
        """Create a team, which may use only these repositories; without any, all."""
        await self.core.permit(Right.MANAGE_TEAMS)
        now = await self.core.store.now()
        team = checked(Team, {"name": name, "repos": each_once(repos), "created_at": now})
        await self._refuse_unknown(team.repos)
        if await self.core.store.records(Team, ids=[team.name]):
            raise Duplicate(f"there is already a team {name}", hint="choose another name")
        if await self._has_left_something(team.name):
            raise Duplicate(
                f"a team {name} was removed, and its work is still here",
                hint="choose another name: a new team may not inherit what it can read",
            )
        told = event("team.created", now, team.name, team=team.name)
        await self.core.write(Write(records=[team], events=[told]))
        return team

    async def teams(self) -> Sequence[Team]:
        """Every team by name; for a member, only its own."""
        return await self.core.store.records(Team)

    async def team(self, name: str) -> Team:
        """The team with this name."""
        return await task_teams.team_named(self.core, name)

    async def members(self, team: str) -> Sequence[Member]:
        """The members of a team, by handle."""
        await self.team(team)
        return await self.core.store.records(Member, team=team)

    async def remove_team(self, name: str) -> Team:
        """Remove a team whose tasks are all finished; its tokens are revoked."""
        await self.core.permit(Right.MANAGE_TEAMS)
        team, store = await self.team(name), self.core.store
        if busy := await store.tasks(TaskQuery(team=name, states=UNFINISHED, limit=1)):
            raise Refused(f"{busy[0].id} is {busy[0].state}", hint="finish or cancel its tasks")
        now = await store.now()
        ending = revoking(await store.records(Token, team=name), now)
        told = event("team.removed", now, name, team=name)
        step = Write(
            records=ending.records,
            removed=[
                team,
                *await store.records(Member, team=name),
                *await store.records(Invite, team=name),
            ],
            events=[*ending.events, told],
        )
        await self.core.write(step)
        return team

    async def invite(
        self, team: str, role: Role, *, uses: int = 1, ttl: timedelta = INVITE_TTL
    ) -> tuple[Invite, str]:
        """An invite to a team with a role, and its secret, which is not stored.

        The secret is a signature of the invite's id, made with a key of the home.
        """
        import secrets  # imported here, because it is slow and few commands need it

        await self.core.permit(Right.MANAGE_TEAMS)
        refuse_expired(ttl)
        if uses < 1:
            raise Invalid("an invite is for at least one member", hint="choose 1 or more uses")
        now, name = await self.core.store.now(), InviteId(f"i-{secrets.token_hex(4)}")
        secret = self._secret(name)
        made = Invite(
            id=name,
            team=(await self.team(team)).name,
            role=Role(role),
            secret_hash=_hash(secret),
            uses=uses,
            created_at=now,
            expires_at=now + ttl,
        )
        told = event("team.invited", now, team=team, role=made.role, invite=made.id)
        await self.core.write(Write(records=[made], events=[told]))
        return made, secret

    async def invite_again(self, ref: str) -> tuple[Invite, str]:
        """An invite with its secret, for whoever made it and may have missed the answer."""
        await self.core.permit(Right.MANAGE_TEAMS)
        found, secret = await self._invite(ref), self._secret(InviteId(ref))
        if _hash(secret) != found.secret_hash:  # made on another machine
            raise untold(f"the secret of {ref}")
        return found, secret

    async def invites(self, team: str) -> Sequence[Invite]:
        """The invites to a team that can still be used."""
        await self.core.permit(Right.MANAGE_TEAMS)
        await self.team(team)
        now = await self.core.store.now()
        return [it for it in await self.core.store.records(Invite, team=team) if it.is_open(now)]

    async def withdraw_invite(self, ref: str) -> Invite:
        """Let nobody join with this invite any more."""
        await self.core.permit(Right.MANAGE_TEAMS)
        found, now = await self._invite(ref), await self.core.store.now()
        told = event("team.withdrew", now, team=found.team, invite=found.id)
        await self.core.write(Write(removed=[found], events=[told]))
        return found

    async def join(self, team: str, handle: str, secret: str) -> Issued:
        """A token for a new member that knows the secret of an invite, with the invite's role."""
        for _ in range(TRIES):
            now = await self.core.store.now()
            found = await self._open_invite(team, secret, now)
            try:
                return await self._joined(found, handle, now)
            except Stale:  # somebody else used the same invite at the same moment
                continue
        raise Stale(f"too many join {team} at once", hint="try again")

    async def _invite(self, ref: str) -> Invite:
        found = await self.core.store.records(Invite, ids=[InviteId(ref)])
        if not found:
            raise NotFound(f"no invite {ref[:80]}", hint="`fleet team show TEAM` shows them")
        return found[0]

    def _secret(self, invite: InviteId) -> str:
        key = key_files.secret(self.core.home / "keys" / "invites.key")
        return hmac.new(key, invite.encode(), "sha256").hexdigest()

    async def _joined(self, invite: Invite, handle: str, now: datetime) -> Issued:
        at = {"team": invite.team, "handle": handle, "role": invite.role, "joined_at": now}
        member = checked(Member, {**at, "invite": invite.id})
        known = await self.core.whole_store.records(Member, ids=[member.id])
        if known and known[0].invite != invite.id:
            raise Duplicate(f"{member.id} is taken", hint="choose another handle")
        if known:  # stored again, so that who gives it another role at the same moment is noticed
            member = known[0].evolve(version=known[0].version + 1)
        issued = self._sign(member, now)
        holder = Holder(token=issued.token.id, team=invite.team, handle=handle, role=invite.role)
        used = invite.evolve(uses=invite.uses - 1, version=invite.version + 1)
        told = event("team.joined", now, member.id, team=invite.team, role=invite.role)
        step = Write(
            records=[used, member, issued.token],
            events=[*([] if known else [told]), issued.told],
        )
        await self.core.acting_as(holder).write(step)
        return issued

    async def _open_invite(self, team: str, secret: str, now: datetime) -> Invite:
        """The invite with this secret. Each one is compared, in the same time for all."""
        store = self.core.whole_store
        counted = team if await store.records(Team, ids=[team]) else UNKNOWN_TEAM
        self.core.guesses.refuse_many(counted, now)
        given = _hash(secret)
        invites = [each for each in await store.records(Invite, team=team) if each.is_open(now)]
        found = [each for each in invites if hmac.compare_digest(each.secret_hash, given)]
        if not found:
            self.core.guesses.count(counted, now)
            raise Unauthenticated(
                f"this secret admits nobody to {team[:80]}",
                hint="it may be used up or expired; ask the fleet's owner: `fleet team invite`",
            )
        return found[0]

    async def _has_left_something(self, team: str) -> bool:
        """Does anything carry the name of this team, which is no more?"""
        if await self.core.store.tasks(TaskQuery(team=team, limit=1)):
            return True
        for kind in LEFT_BEHIND:
            if await self.core.store.records(kind, team=team):
                return True
        return False

    async def _refuse_unknown(self, repos: Sequence[str]) -> None:
        known = [repo.name for repo in await self.core.store.records(Repo)]
        for name in repos:
            if name not in known:
                hint = did_you_mean(name, known, f"known: {', '.join(known) or 'none yet'}")
                raise Invalid(f"no repository {name}", hint=hint)


def _hash(secret: str) -> str:
    """Secrets cannot be guessed, so that a plain hash of one tells nothing about it."""
    from hashlib import sha256  # imported here, because few commands need it

    return sha256(secret.encode(errors="replace")).hexdigest()
