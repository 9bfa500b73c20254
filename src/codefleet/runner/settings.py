"""The settings of a home: what is in force and why, and how to change one. Rules for every door."""

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from codefleet.coders.registry import refuse_unknown
from codefleet.config import FILE, KEYS, Config, load, toml, value_of, without_password
from codefleet.config.file import PARTS, set_value
from codefleet.config.settings import DEFAULT, meanings, types
from codefleet.config.values import parsed
from codefleet.domain.errors import Invalid
from codefleet.domain.secrets import redact
from codefleet.domain.views import Setting

ADDRESSES = ("store", "store_direct")
MASK = "***"


def in_force(home: Path, running: Config) -> list[Setting]:
    """Every setting, tables entry by entry; what a flag set for this process is `running`."""
    config = _with_flags(load(home, env=os.environ), running)
    return [_setting(key, text, config) for key, text in _texts(config)]


def change(home: Path, key: str, text: str) -> None:
    """Set one key of the home's file; an empty text removes it, a bad one is refused."""
    config = load(home, env=os.environ)
    if any(key == each and text == _masked(each, told) != told for each, told in _texts(config)):
        raise Invalid(f"this is how {key} is shown, not its value", hint="type all of it anew")
    refuse_unfit(home, key, text)
    set_value(home / FILE, key, text)


def refuse_unfit(home: Path, key: str, text: str) -> None:
    """Refuse a coder, a store or an option that does not exist, before it costs a run."""
    for name in _coders_in(key, text):
        refuse_unknown(name)
    if key == "store" and text:
        from codefleet.wiring import parts_of  # here, because few settings need it

        parts_of(text)
    match key.split("."):
        case ["coders", name, option] if text:
            from codefleet.coders.capabilities import refuse_option  # here: it loads the coder

            usual = load(home, env=os.environ).coders.get(name, {})
            refuse_option(name, usual, option, parsed(text))


def after_change(home: Path, key: str, running: Config) -> tuple[Config, Setting]:
    """What is in force now, and the setting that was changed."""
    config = _with_flags(load(home, env=os.environ), running)
    texts = dict(_texts(config))
    return config, _setting(key, texts.get(key, ""), config)


def _with_flags(config: Config, running: Config) -> Config:
    """The settings of the files and variables, under the flags that this process has."""
    flags = {key: getattr(running, key) for key in KEYS if running.source(key) == "flag"}
    return config.evolve(**flags, sources={**config.sources, **dict.fromkeys(flags, "flag")})


def _texts(config: Config) -> Iterator[tuple[str, str]]:
    """The settings by the names that `fleet config set` takes, each as one would type it."""
    for key, value in config.plain().items():
        if key not in PARTS:
            if key in KEYS:
                yield key, _typed(value)
        else:
            yield from _entries(key, value, PARTS[key] - 1)


def _entries(key: str, table: Mapping[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    for name, value in sorted(table.items()):
        if depth > 1 and isinstance(value, Mapping):
            yield from _entries(f"{key}.{name}", value, depth - 1)
        else:
            yield f"{key}.{name}", _typed(value)


def _typed(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else toml(value)


def _setting(key: str, text: str, config: Config) -> Setting:
    head, source = key.split(".")[0], config.source(key.split(".")[0])
    is_single = key in KEYS
    return Setting(
        key=key,
        value=_masked(key, text),
        source=source,
        default=_typed(DEFAULT.plain()[key]) if is_single else "",
        meaning=meanings()[head],
        choices=_choices(types()[key]) if is_single else (),
        overridden_by=source if source == "flag" or source.startswith("FLEET_") else "",
    )


def _masked(key: str, text: str) -> str:
    """The value without what only its owner may see: passwords, keys, variables of agents."""
    if key in ADDRESSES:
        return without_password(text)
    if key.startswith("coders.") and key.endswith(".env"):
        table = parsed(text)
        return toml(dict.fromkeys(table, MASK)) if isinstance(table, Mapping) else MASK
    return redact(text)


def _choices(kind: Any) -> tuple[str, ...]:
    if kind is bool:
        return ("true", "false")
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()


def _coders_in(key: str, text: str) -> list[str]:
    """The coders that this setting names."""
    match key.split("."):
        case ["coder" | "fallback"] | ["repos", _, "coder" | "fallback"] if text:
            return [text]
        case ["coders", name, *_] if text:
            return [name]
        case ["route"] | ["repos", _, "route"] if isinstance(
            rules := value_of("route", text), list
        ):
            return [
                str(rule["coder"]) for rule in rules if isinstance(rule, dict) and "coder" in rule
            ]
    return []
