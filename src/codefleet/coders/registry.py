"""Coders by name. Built-in ones are plugins like any other: entry points of `codefleet.coders`."""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from codefleet.coder import Coder
from codefleet.domain.errors import BadConfig, NotFound
from codefleet.domain.suggestion import did_you_mean

GROUP = "codefleet.coders"
OURS = "codefleet"


def names() -> list[str]:
    """Every coder that is installed, loaded or not."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def shadowed() -> list[str]:
    """A sentence about each coder of another package whose name is already taken."""
    first: dict[str, EntryPoint] = {}
    told = []
    for entry in sorted(entry_points(group=GROUP), key=_precedence):
        used = first.setdefault(entry.name, entry)
        if _package(used) != _package(entry):
            told.append(
                f"the coder {entry.name} of {_package(entry)} is not used: {_package(used)} has one"
            )
    return told


def _precedence(entry: EntryPoint) -> tuple[bool, str]:
    """Built-in coders first: no plugin can take their names."""
    return _package(entry) != OURS, _package(entry)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else ""


def is_built_in(name: str) -> bool:
    """Does the coder with this name come with codefleet, and not with a plugin?"""
    found = entry_points(group=GROUP, name=name)
    return any(_package(entry) == OURS for entry in found)


def refuse_unknown(name: str) -> None:
    """Refuse the name of a coder that is not installed, before it costs a run."""
    installed = names()
    if name not in installed:
        raise _no_coder(name, installed)


def _no_coder(name: str, installed: Sequence[str]) -> NotFound:
    known = f"installed coders: {', '.join(installed)}"
    return NotFound(f"no coder {name[:80]!r}", hint=did_you_mean(name, installed, known))


@cache
def coder(name: str) -> Coder:
    """The coder with this name; no other is loaded."""
    found = sorted(entry_points(group=GROUP, name=name), key=_precedence)
    if not found:
        raise _no_coder(name, names())
    try:
        loaded: Coder = found[0].load()
    except (ImportError, AttributeError) as reason:
        raise BadConfig(
            f"the coder {name} cannot be loaded: {reason}",
            hint="reinstall the package that brings it, or choose another coder",
        ) from reason
    return loaded
