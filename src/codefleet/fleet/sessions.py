"""A browser's session stands for a token: it is over when that is, and after a week.

A session is a text with a signature of the home's key, so none has to be stored. It does not
contain the token.
"""

import hmac
from datetime import timedelta
from pathlib import Path
from typing import Self

from codefleet.domain.access import NO_TOKEN, OWNER, Actor, Holder, Right
from codefleet.domain.errors import Forbidden, Unauthenticated
from codefleet.fleet import sign_in_codes
from codefleet.fleet.jwt_text import text_hash
from codefleet.fleet.key_files import secret
from codefleet.fleet.tokens import Tokens, owner_token

LASTS = timedelta(days=7)


class Sessions(Tokens):
    async def sign_in_code(self) -> str:
        """A code with which a browser at this machine can sign in as the owner, once and soon."""
        await self.core.permit(Right.SET_UP)
        return sign_in_codes.new(self.core.home, await self.core.store.now())

    async def with_code(self, code: str) -> Self:
        """The same fleet for the owner, who signs in with this code."""
        if not sign_in_codes.use(self.core.home, code, await self.core.store.now()):
            raise Unauthenticated(
                "this code is not valid any more", hint="`fleet dashboard` makes a new one"
            )
        return self.acting_as(OWNER)

    async def session(self) -> str:
        """A session for a browser, as long as the actor's token is valid, a week at most."""
        subject = self._subject()
        until = str(int((await self.core.store.now() + LASTS).timestamp()))
        return f"{subject}.{until}.{self._signature(subject, until)}"

    async def with_session(self, text: str) -> Self:
        """The same fleet for whoever opened this session, if its token is still valid."""
        subject, until, signature = [*text.split("."), "", ""][:3]
        good = self._signature(subject, until).encode()
        if not hmac.compare_digest(signature.encode(errors="replace"), good):
            raise Unauthenticated("this session is not valid", hint="sign in again")
        if (await self.core.store.now()).timestamp() >= int(until):
            raise Unauthenticated("this session has expired", hint="sign in again")
        return self.acting_as(await self._signed_in(subject))

    def _subject(self) -> str:
        actor = self.core.actor
        if actor == OWNER:
            return _owner(self.core.home)
        if isinstance(actor, Holder) and actor.token != NO_TOKEN:
            return actor.token
        raise Forbidden(
            "only the owner and members of teams have sessions", hint="sign in with their token"
        )

    async def _signed_in(self, subject: str) -> Actor:
        if subject == _owner(self.core.home):
            return OWNER
        found = await self._valid(subject)
        return Holder(token=found.id, handle=found.handle, team=found.team, role=found.role)

    def _signature(self, subject: str, until: str) -> str:
        key = secret(self.core.home / "keys" / "sessions.key")
        return hmac.new(key, f"{subject}.{until}".encode(errors="replace"), "sha256").hexdigest()


def _owner(home: Path) -> str:
    """The owner of now: another one, once the owner's token is replaced."""
    return f"owner-{text_hash(owner_token(home).decode())[:16]}"
