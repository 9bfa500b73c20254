"""codefleet: the commander of a fleet of AI coding agents.

async with open_fleet() as fleet:
    await fleet.add([Draft(title="Extract the mailer")])
"""

TYPE_CHECKING = False  # `typing` takes longer to load than all that a keeper needs
if TYPE_CHECKING:
    from typing import Any

    from codefleet.domain.model import Draft
    from codefleet.fleet import Fleet
    from codefleet.wiring import open_fleet

__all__ = ["Draft", "Fleet", "open_fleet"]

_HOMES = {"Draft": "domain.model", "Fleet": "fleet", "open_fleet": "wiring"}


def __getattr__(name: str) -> "Any":
    """Load what is asked for when it is asked for: the command line needs little of it."""
    if name not in _HOMES:
        raise AttributeError(f"codefleet has no {name}")
    from importlib import import_module

    return getattr(import_module(f"codefleet.{_HOMES[name]}"), name)
