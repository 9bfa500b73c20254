"""Tokens of members: create, list, revoke, and the keys that they are signed with."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from codefleet.domain import access
from codefleet.domain.access import Holder, Right
from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.events import event
from codefleet.domain.model import Event, Member, Token, TokenId
from codefleet.domain.moment import span
from codefleet.domain.validation import checked
from codefleet.domain.words import Role
from codefleet.fleet import jwt_text, signing_keys, task_teams
from codefleet.fleet.verbs import Verbs
from codefleet.ports import Write


class Issued(NamedTuple):
    """A new token, and its text, which is not stored."""

    token: Token
    text: str

    @property
    def told(self) -> Event:
        """The event that tells of it."""
        return event("token.created", self.token.created_at, **_about(self.token))


class TeamTokens(Verbs):
    async def create_token(
        self, team: str, handle: str, role: Role, *, ttl: timedelta | None = None
    ) -> Issued:
        """A token for a member, who joins the team if necessary; a new role replaces the old one.

        Tokens of the member with another role are revoked.
        """
        await self.core.permit(Right.MANAGE_TEAMS)
        refuse_expired(ttl)
        await task_teams.team_named(self.core, team)
        now = await self.core.store.now()
        said = {"team": team, "handle": handle, "role": role, "joined_at": now}
        member = checked(Member, said)
        known = await self.core.store.records(Member, ids=[member.id])
        if known:
            member = member.evolve(joined_at=known[0].joined_at, version=known[0].version + 1)
        issued = self._sign(member, now, ttl)
        joined = event("team.joined", now, member.id, team=team, role=member.role)
        older = [
            it for it in await self.core.store.records(Token, team=team) if it.handle == handle
        ]
        ending = revoking([it for it in older if it.role != member.role], now)
        step = Write(
            records=[member, issued.token, *ending.records],
            events=[*([] if known else [joined]), issued.told, *ending.events],
        )
        await self.core.write(step)
        return issued

    async def token_again(self, ref: str) -> Issued:
        """A token with its text, which is signed again: whoever made it may have missed it.

        Refused once the key is gone, or if another machine signed it.
        """
        await self.core.permit(Right.MANAGE_TEAMS)
        token = await self._token(ref)
        keys = signing_keys.signing_keys(self.core.home)
        texts = [jwt_text.written(token, key) for key in keys if key.id == token.key]
        if not texts or jwt_text.text_hash(texts[0]) != token.text_hash:
            raise untold(f"the text of {ref}")
        return Issued(token, texts[0])

    async def tokens(self, team: str | None = None) -> Sequence[Token]:
        """The tokens of a team, or of all, oldest first; without their texts."""
        await self.core.permit(Right.MANAGE_TEAMS)
        if team is not None:
            await task_teams.team_named(self.core, team)
        return await self.core.store.records(Token, team=team)

    async def revoke_token(self, ref: str) -> Token:
        """Make a token invalid now; the holder of one may do that with its own."""
        holder = self.core.actor
        if not (isinstance(holder, Holder) and holder.token == ref):
            access.refuse(holder, Right.MANAGE_TEAMS)
        token = await self._token(ref)
        if token.revoked_at:
            raise Refused(f"{ref} is revoked already", hint="there is nothing left to do")
        return await self._revoke(token)

    async def rotate_keys(self) -> str:
        """Sign new tokens with a new key, whose id this returns.

        Tokens signed with the last key stay valid until the next time; those of the key before it
        are revoked.
        """
        await self.core.permit(Right.ROTATE)
        await self._revoke_signed_by(signing_keys.next_to_go(self.core.home))
        key, dropped = signing_keys.rotate(self.core.home)
        await self._revoke_signed_by(dropped)  # another rotation may have come between
        return key.id

    async def _token(self, ref: str) -> Token:
        found = await self.core.store.records(Token, ids=[TokenId(ref)])
        if not found:
            raise NotFound(f"no token {ref[:80]}", hint="`fleet token list` shows every token")
        return found[0]

    async def _revoke_signed_by(self, keys: Sequence[signing_keys.SigningKey]) -> None:
        """Revoke first, then forget the key: a kill in between leaves no token valid."""
        ids = {key.id for key in keys}
        for token in await self.core.store.records(Token) if ids else ():
            if token.key in ids and not token.revoked_at:
                await self._revoke(token)

    async def _revoke(self, token: Token) -> Token:
        step = revoking([token], await self.core.store.now())
        stored = await self.core.write(step)
        return next(each for each in stored.records if isinstance(each, Token))

    def _sign(self, member: Member, now: datetime, ttl: timedelta | None = None) -> Issued:
        """A token for this member, not stored yet."""
        import secrets  # imported here, because it is slow and few commands need it

        token = Token(
            id=TokenId(f"t-{secrets.token_hex(6)}"),
            team=member.team,
            handle=member.handle,
            role=member.role,
            created_at=now,
            expires_at=now + (span(self.core.config.token_ttl) if ttl is None else ttl),
        )
        key = signing_keys.signing_keys(self.core.home)[0]
        text = jwt_text.written(token, key)
        return Issued(token.evolve(key=key.id, text_hash=jwt_text.text_hash(text)), text)


def refuse_expired(ttl: timedelta | None) -> None:
    """Refuse what would never be valid."""
    if ttl is not None and ttl <= timedelta():
        raise Invalid("it would expire at once", hint="choose a time such as 90m, 12h or 30d")


def untold(what: str) -> Refused:
    """The error for a secret that is not stored and cannot be made again here."""
    return Refused(f"{what} cannot be told again", hint="make another one, and remove this one")


def revoking(tokens: Sequence[Token], now: datetime) -> Write:
    """The step that revokes those of these tokens that are not, and tells their streams to end."""
    gone = [it.evolve(revoked_at=now, version=it.version + 1) for it in tokens if not it.revoked_at]
    return Write(
        records=gone, events=[event("token.revoked", now, **_about(token)) for token in gone]
    )


def _about(token: Token) -> dict[str, Any]:
    return {"team": token.team, "handle": token.handle, "role": token.role, "token": token.id}
