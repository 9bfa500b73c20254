"""Tokens of runs: who has one acts as that run, for as long as it lives.

A token is the run's id and a seal that only the holder of the home's key can make, so none has to
be stored.
"""

import hmac
import os
from pathlib import Path

from codefleet.domain.errors import Refused
from codefleet.domain.model import Run, RunId
from codefleet.fleet.core import Core

KEY_BYTES = 32
LEAST = 32
"""The fewest characters that a secret of ours may have."""


class Tokens(Core):
    def token(self, run: RunId) -> str:
        """What proves that somebody acts for this run."""
        return f"{run}:{_seal(self._key(), run)}"

    async def run_of(self, token: str) -> Run:
        """The live run that a token speaks for."""
        name, seal = run_named_in(token), token.strip().rpartition(":")[2]
        found = await self.store.runs(ids=[name]) if name else ()
        if not found or not _same(seal, _seal(self._key(), found[0].id)):
            raise Refused("this token is not one of this fleet", hint="use the one of your own run")
        if not found[0].is_live:
            raise Refused(f"the run {name} is over", hint="a token is good while its run lives")
        return found[0]

    def _key(self) -> bytes:
        return secret(self.home / "keys" / "runs.key")


def run_named_in(token: str) -> RunId:
    """The run that a token is for, if it is good."""
    return RunId(token.strip().rpartition(":")[0])


def secret(file: Path) -> bytes:
    """The secret in this file, which only the owner can read; made when there is none."""
    import secrets  # here, because it is slow to import and few commands need it

    try:
        return _long_enough(file)
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(secrets.token_hex(KEY_BYTES).encode())
    try:
        os.link(draft, file)  # the first one stays, whoever comes at the same moment
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return _long_enough(file)


def _long_enough(file: Path) -> bytes:
    """What is in the file; a secret that can be guessed is none."""
    found = file.read_bytes().strip()
    if len(found) < LEAST:
        raise Refused(
            f"{file} holds {len(found)} characters; a secret needs at least {LEAST}",
            hint="delete the file: a new secret is made at the next start",
        )
    return found


def _same(given: str, seal: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), seal.encode())


def _seal(key: bytes, run: RunId) -> str:
    return hmac.new(key, run.encode(), "sha256").hexdigest()
