"""The platform in use, and what the fleet does less well on it."""

import os
import sys
from collections.abc import Iterator

from codefleet import platform
from codefleet.runner.doctor.findings import Finding

NAMES = {platform.LINUX: "Linux", platform.POSIX: "POSIX"}


def system() -> Iterator[Finding]:
    """Which platform is in use; each weakness of it is only a warning."""
    weaker = platform.machine().WEAKER
    where = f"platform {NAMES[platform.name()]} on {os.uname().sysname}"
    yield Finding(f"{where}, which is weaker than Linux" if weaker else where)
    yield from (Finding(what, "use Linux if you need that", must=False) for what in weaker)
    asked = os.environ.get(platform.VARIABLE, platform.name())
    if asked not in ("", platform.name()):
        mend = f"unset {platform.VARIABLE}, or set it to {platform.POSIX}"
        yield Finding(f"{platform.VARIABLE}={asked} has no effect on {sys.platform}", mend, False)
