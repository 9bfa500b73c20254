"""Coders by name. Built-in ones are plugins like any other: entry points of `codefleet.coders`."""

from functools import cache
from importlib.metadata import entry_points

from codefleet.domain.errors import BadConfig, NotFound
from codefleet.ports import Coder

GROUP = "codefleet.coders"


def names() -> list[str]:
    """Every coder that is installed, loaded or not."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def refuse_unknown(name: str) -> None:
    """Refuse the name of a coder that is not installed, before it costs a run."""
    installed = names()
    if name not in installed:
        raise NotFound(f"no coder {name[:80]!r}", hint=f"installed coders: {', '.join(installed)}")


@cache
def coder(name: str) -> Coder:
    """The coder with this name; only this one is loaded."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise NotFound(f"no coder {name}", hint=f"installed coders: {', '.join(names())}")
    try:
        loaded: Coder = next(iter(found)).load()
    except (ImportError, AttributeError) as reason:
        raise BadConfig(
            f"the coder {name} cannot be loaded: {reason}",
            hint="reinstall the package that brings it, or choose another coder",
        ) from reason
    return loaded
