"""codefleet: the commander of a fleet of AI coding agents.

async with open_fleet() as fleet:
    await fleet.add([Draft(title="Extract the mailer")])
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codefleet.domain.model import Draft
    from codefleet.fleet import Fleet
    from codefleet.wiring import open_fleet

__all__ = ["Draft", "Fleet", "open_fleet"]

_HOMES = {"Draft": "domain.model", "Fleet": "fleet", "open_fleet": "wiring"}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: the command line needs little of it."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"codefleet.{_HOMES[name]}"), name)
    raise AttributeError(f"codefleet has no {name}")
