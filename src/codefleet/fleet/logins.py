"""Tokens for servers at a distance: from the environment, or kept by `fleet login`."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from codefleet.config.private import make_folder, open_text
from codefleet.domain.errors import Forbidden, Unauthenticated
from codefleet.domain.model import RunId
from codefleet.fleet.tokens import owner_token_file, token_of

VARIABLE = "FLEET_TOKEN"
LOGINS = "keys/logins.json"


class Access(NamedTuple):
    """Where a server is reached, and with which token."""

    url: str
    token: str


def for_server(url: str, home: Path, env: Mapping[str, str], own: str | None) -> Access:
    """The token for a server: from the environment, from a login, or the owner's.

    `own` is where the home's own server is reached, if this is its address. The owner's token goes
    nowhere else, because anybody can listen at another port of this machine.
    """
    if token := env.get(VARIABLE, "").strip():
        return Access(url, token)
    if token := logins(home).get(url.rstrip("/"), ""):
        return Access(url, token)
    if own:
        with suppress(OSError):
            return Access(own, owner_token_file(home).read_text(encoding="utf-8").strip())
    raise Unauthenticated(
        f"there is no token for {url}", hint=f"`fleet login {url}` keeps one, or set {VARIABLE}"
    )


def for_agent(url: str, home: Path, run: RunId, own: str | None) -> Access:
    """The token of a run, with which its agent reaches the server of its own fleet, and no other:
    the logins here are those of a human."""
    if own is None:
        raise Forbidden(
            f"an agent of the fleet may not use the server at {url}",
            hint="leave out --server: your commands reach your own fleet",
        )
    return Access(own, token_of(run, home))


def logins(home: Path) -> dict[str, str]:
    """The tokens that `fleet login` kept, by the address of their server."""
    try:
        found = msgspec.json.decode((home / LOGINS).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return {}
    return found


def keep_login(home: Path, url: str, token: str | None) -> None:
    """Keep the token for a server where only its owner can read it; None removes it."""
    known = {**logins(home), url.rstrip("/"): token}
    file = home / LOGINS
    make_folder(file.parent)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    with open_text(draft, os.O_CREAT | os.O_TRUNC) as out:
        kept = {address: each for address, each in known.items() if each}
        out.write(msgspec.json.encode(kept).decode())
    draft.replace(file)
