"""Writing a `fleet.toml`: a new one for a new home, or one key of an existing one."""

import os
import re
import stat
from pathlib import Path
from typing import Any, get_origin

from codefleet.config.layers import file_layer, read, repo_tables
from codefleet.config.loading import check, unknown
from codefleet.config.private import open_text
from codefleet.config.settings import DEFAULT, KEYS, meanings, types
from codefleet.config.values import parsed, toml, value_of, without_password
from codefleet.domain.errors import BadConfig
from codefleet.domain.secrets import redact

PARTS = {"coders": 3, "repos": 3, "prices": 2, "windows": 2}
"""The settings that are tables, and how many parts the name of a value in each has."""
BY_MODEL = ("prices", "windows")


def set_value(path: Path, key: str, text: str, *, in_repo: bool = False) -> None:
    """Set one key in a file and keep its comments; an empty text removes the key."""
    import tomlkit  # imported here, because only this verb writes

    file_layer(path, in_repo=in_repo)  # refuses a file that is already broken
    document = tomlkit.parse(read(path))
    parts = _split(key)
    table: Any = document
    for part in parts[:-1]:
        table = table.setdefault(part, tomlkit.table(is_super_table=part in PARTS))
    if text:
        is_setting = parts[0] not in ("coders", *BY_MODEL)
        table[parts[-1]] = value_of(parts[-1], text) if is_setting else parsed(text)
    else:
        table.pop(parts[-1], None)
    written = tomlkit.dumps(document)
    layer = file_layer(path, in_repo=in_repo, text=written)
    check(layer)
    for each in repo_tables(layer):
        check(each)
    _replace(path, written, for_all=in_repo)


def sample() -> str:
    """A file of commented defaults, for a new home."""
    lines = ["# The settings of this fleet. Remove a `#` to change one.", ""]
    for key, meaning in meanings().items():
        if get_origin(types()[key]) is not dict:
            default = getattr(DEFAULT, key)
            value = "..." if default is None else toml(default)
            lines += [f"# {meaning}", f"# {key} = {value}", ""]
    return "\n".join(lines)


def _split(key: str) -> list[str]:
    """A dotted key as its parts; a model's name may contain dots."""
    head, _, model = key.partition(".")
    parts = [head, model.strip('"')] if head in BY_MODEL else key.split(".")
    if parts[0] not in KEYS:
        raise unknown(parts[0])
    if len(parts) != PARTS.get(parts[0], 1) or not all(parts):
        raise BadConfig(
            f"{key!r} is not the name of one setting",
            hint="settings are like agents, coders.command.argv, repos.shop.landing, prices.MODEL",
        )
    if parts[0] in BY_MODEL and not re.search(r"[A-Za-z0-9*]", parts[1]):
        raise BadConfig(
            f"{parts[1]!r} is not the name of a model",
            hint="`fleet cost --by model` shows the models in use",
        )
    if parts[0] == "repos" and parts[2] not in KEYS:
        raise unknown(parts[2])
    return parts


def _replace(path: Path, text: str, *, for_all: bool) -> None:
    """Replace the file atomically, even if the power fails.

    A new file in a home is private to its owner, and so is any that contains a password.
    """
    target = path.resolve()  # a link stays a link
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644 * for_all
        if not for_all and (redact(text) != text or without_password(text) != text):
            mode = 0o600
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        with open_text(draft, errors="strict") as file:
            if mode:
                draft.chmod(mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as wrong:
        raise BadConfig(
            f"cannot write {path}: {wrong.strerror}", hint="check that you may write there"
        ) from wrong
