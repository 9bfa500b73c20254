"""Requests that can be repeated safely: done once, or done only to what the caller has seen."""

from collections.abc import Sequence
from copy import copy
from datetime import timedelta
from hashlib import sha256
from typing import Self

from codefleet.domain.model import Receipt
from codefleet.fleet.receipts import made_before
from codefleet.fleet.verbs import Verbs
from codefleet.ports import Write

KEPT_FOR = timedelta(days=1)
"""How long a repeated request is recognised."""


class Requests(Verbs):
    def expecting(self, version: int) -> Self:
        """The same fleet, which changes a task only if it still has this version."""
        other = copy(self.core)
        other.expected = version
        return type(self)(other)

    async def once(self, key: str, request: bytes) -> tuple[Self, Sequence[str]]:
        """The same fleet for a request that must not be carried out twice, and what it has already
        created, if it was made before.

        The `key` is the caller's. It is kept with what the request creates, in one step.
        """
        other = copy(self.core)
        name = sha256(f"{self.actor}\n{key}".encode(errors="replace")).hexdigest()
        other.receipt = Receipt(
            id=name,
            team=await self.core.own_team(),
            request=sha256(request).hexdigest(),
            made=(),
            at=await self.core.store.now(),
        )
        return type(self)(other), await made_before(other.store, other.receipt)

    async def forget_receipts(self) -> None:
        """Remove the receipts of requests that nobody will repeat any more."""
        before = await self.core.store.now() - KEPT_FOR
        old = [each for each in await self.core.store.records(Receipt) if each.at < before]
        if old:
            await self.core.write(Write(removed=old))
