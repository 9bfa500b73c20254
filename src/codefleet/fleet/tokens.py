"""Who has sent this token? The owner, the agent of a live run, or a member of a team.

The token of a run is its id and a signature made with the home's key, so none has to be stored.
That of the owner is in a file of the home.
"""

import hmac
from functools import cache
from pathlib import Path
from typing import Self

from codefleet.domain.access import NO_TOKEN, OWNER, Actor, AgentOf, Holder
from codefleet.domain.errors import Unauthenticated
from codefleet.domain.model import RunId, Token
from codefleet.fleet import jwt_text, key_files
from codefleet.fleet.signing_keys import are_given, signing_keys
from codefleet.fleet.verbs import Verbs


class Tokens(Verbs):
    async def with_token(self, token: str) -> Self:
        """The same fleet, for whoever holds this token: the owner, an agent, or a member."""
        return self.acting_as(await self._sender(token.strip()))

    async def check_token(self) -> Token | None:
        """The token that the actor holds; None if it needs none.

        Raises `Unauthenticated` once it is revoked or expired: a stream that outlives the request
        asks again at every `token.revoked`, and when the token expires.
        """
        holder = self.core.actor
        if not isinstance(holder, Holder) or holder.token == NO_TOKEN:
            return None
        return await self._valid(holder.token)

    async def _sender(self, token: str) -> Actor:
        if _same(token, _owner_token_if_any(self.core.home)):
            return OWNER
        if ":" in token:
            return await self._agent(token)
        return await self._member(token)

    async def _member(self, text: str) -> Holder:
        keys = signing_keys(self.core.home)
        name = jwt_text.token_named(text, keys, only_these=are_given(keys))
        found = await self._valid(name)
        if not _same(jwt_text.text_hash(text), found.text_hash):
            raise jwt_text.unknown()
        return Holder(token=found.id, handle=found.handle, team=found.team, role=found.role)

    async def _agent(self, token: str) -> AgentOf:
        name = RunId(token.rpartition(":")[0])
        found = await self.core.whole_store.runs(ids=[name])
        if not found or not _same(token, token_of(found[0].id, self.core.home)):
            raise Unauthenticated(
                "this token does not belong to this fleet", hint="use your run's token"
            )
        if not found[0].is_live:
            raise Unauthenticated(
                f"the run {name} is over", hint="a token is valid while its run is live"
            )
        return AgentOf(run=name)

    async def _valid(self, name: str) -> Token:
        """The stored token with this id, refused unless it is valid now."""
        found = await self.core.whole_store.records(Token, ids=[name])
        now = await self.core.store.now()
        if not found or not found[0].is_valid(now):
            why = "was revoked" if found and found[0].revoked_at else "has expired"
            raise Unauthenticated(
                f"this token {why if found else 'is unknown'}",
                hint="ask for a new one: `fleet token create TEAM HANDLE`",
            )
        return found[0]


def owner_token(home: Path) -> bytes:
    """The token with which the owner reaches a server of this home; created if there is none."""
    return key_files.secret(owner_token_file(home))


@cache  # asked for at every request
def owner_token_file(home: Path) -> Path:
    """Where the owner's token is."""
    return home / "keys" / "owner.token"


def token_of(run: RunId, home: Path) -> str:
    """The proof that someone acts for this run."""
    key = key_files.secret(home / "keys" / "runs.key")
    return f"{run}:{hmac.new(key, run.encode(), 'sha256').hexdigest()}"


def _owner_token_if_any(home: Path) -> str:
    try:
        return key_files.read(owner_token_file(home)).decode()
    except FileNotFoundError:
        return ""


def _same(given: str, token: str) -> bool:
    return bool(token) and hmac.compare_digest(given.encode(errors="replace"), token.encode())
