"""Tokens of runs: the holder of one acts as that run, as long as it is live.

A token is the run's id and a signature made with the home's key, so none has to be stored.
"""

import hmac
import os
from pathlib import Path

from codefleet.domain.errors import Refused
from codefleet.domain.model import Run, RunId
from codefleet.fleet.core import Core

KEY_BYTES = 32
LEAST = 32
"""The fewest characters that a secret may have."""


class Tokens(Core):
    def token(self, run: RunId) -> str:
        """The proof that someone acts for this run."""
        return f"{run}:{_seal(self._key(), run)}"

    async def run_of(self, token: str) -> Run:
        """The live run that a token belongs to."""
        name, seal = run_named_in(token), token.strip().rpartition(":")[2]
        found = await self.store.runs(ids=[name]) if name else ()
        if not found or not _same(seal, _seal(self._key(), found[0].id)):
            raise Refused("this token does not belong to this fleet", hint="use your run's token")
        if not found[0].is_live:
            raise Refused(f"the run {name} is over", hint="a token is valid while its run is live")
        return found[0]

    def _key(self) -> bytes:
        return secret(self.home / "keys" / "runs.key")


def run_named_in(token: str) -> RunId:
    """The run that a token is for, if the token is valid."""
    return RunId(token.strip().rpartition(":")[0])


def secret(file: Path) -> bytes:
    """The secret in this file, readable only by the owner; created if there is none."""
    import secrets  # imported here, because it is slow and few commands need it

    try:
        return _long_enough(file)
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(secrets.token_hex(KEY_BYTES).encode())
    try:
        os.link(draft, file)  # of several at the same moment, the first one wins
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return _long_enough(file)


def _long_enough(file: Path) -> bytes:
    """The contents of the file; refused if too short to be secret."""
    found = file.read_bytes().strip()
    if len(found) < LEAST:
        raise Refused(
            f"{file} has {len(found)} characters; a secret needs at least {LEAST}",
            hint="delete the file: a new secret is created at the next start",
        )
    return found


def _same(given: str, seal: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), seal.encode())


def _seal(key: bytes, run: RunId) -> str:
    return hmac.new(key, run.encode(), "sha256").hexdigest()
