"""The keys that tokens are signed with: the newest signs, and the one before it is still valid.

They are in a file of the home, a line each. `JWT_SECRET` in the environment replaces them: then
only tokens that it signed are valid.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from codefleet.domain.errors import BadConfig, Refused
from codefleet.fleet import key_files

VARIABLES = ("FLEET_JWT_SECRET", "JWT_SECRET")
KEPT = 2
ID_LENGTH = 8
FROM_THE_ENVIRONMENT = "environment"


class SigningKey(NamedTuple):
    """A key, and the name by which a token says that it was signed with it."""

    id: str
    secret: str


def signing_keys(home: Path) -> Sequence[SigningKey]:
    """The valid keys, newest first; the first one is created when it is needed."""
    if given := _given():
        return [given]
    file = _file(home)
    if not file.exists():
        key_files.create(file, _written([_new()]))
    return _read(file)


def are_given(keys: Sequence[SigningKey]) -> bool:
    """Are these from the environment, so that no others count?"""
    return keys[0].id == FROM_THE_ENVIRONMENT


def next_to_go(home: Path) -> Sequence[SigningKey]:
    """The keys that the next rotation makes invalid."""
    return () if _given() else signing_keys(home)[KEPT - 1 :]


def rotate(home: Path) -> tuple[SigningKey, Sequence[SigningKey]]:
    """Sign with a new key from now on, and which keys are no longer valid.

    Tokens of the last one stay valid until the next time.
    """
    if _given():
        raise Refused(
            "tokens are signed with the secret in JWT_SECRET",
            hint="change that variable; all tokens signed with the old one become invalid",
        )
    signing_keys(home)  # so that there is a file
    with _lock(home):
        keys = [_new(), *_read(_file(home))]
        key_files.replace(_file(home), _written(keys[:KEPT]))
    return keys[0], keys[KEPT:]


def _given() -> SigningKey | None:
    """The key in the environment."""
    for name in VARIABLES:
        if secret := os.environ.get(name):
            if len(secret) < key_files.LEAST:
                raise BadConfig(
                    f"{name} has {len(secret)} characters; it needs at least {key_files.LEAST}",
                    hint="use a long random text, such as that of `openssl rand -hex 32`",
                )
            return SigningKey(FROM_THE_ENVIRONMENT, secret)
    return None


def _file(home: Path) -> Path:
    return home / "keys" / "tokens.keys"


def _new() -> SigningKey:
    return SigningKey(key_files.new_secret()[:ID_LENGTH], key_files.new_secret())


def _written(keys: Sequence[SigningKey]) -> str:
    return "".join(f"{key.id} {key.secret}\n" for key in keys)


def _read(file: Path) -> Sequence[SigningKey]:
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    keys = [SigningKey(*parts) for parts in lines if len(parts) == len(SigningKey._fields)]
    if not keys or any(len(key.secret) < key_files.LEAST for key in keys):
        raise Refused(
            f"{file} has no usable key",
            hint="restore it, or delete it: a new key is made; revoke the tokens that should go",
        )
    return keys


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """Only one process at a time rotates."""
    handle = os.open(_file(home).parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
