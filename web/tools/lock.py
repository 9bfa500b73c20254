"""What npm has installed, compared with a lock.

`npm ci` would do so too, but insists on optional packages for other kinds of machines, which not
every registry has.
"""

import json
from pathlib import Path


class NotLocked(Exception):
    """npm installed something that the lock does not have."""


def refuse_unlocked(installed: Path, locked: Path) -> None:
    """Refuse what the lock does not list, except optional packages for other kinds of machines."""
    known = _packages(locked)
    for name, about in _packages(installed).items():
        is_known = known.get(name, {}).get("integrity") == about.get("integrity")
        if not (is_known or about.get("optional")):
            raise NotLocked(f"{locked.name} does not lock {name}")


def _packages(lock: Path) -> dict[str, dict[str, object]]:
    packages: dict[str, dict[str, object]] = json.loads(lock.read_text())["packages"]
    packages.pop("", None)
    return packages
