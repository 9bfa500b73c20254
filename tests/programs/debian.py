"""Programs from Debian's packages: unpacked into the cache of test programs, not installed.

Nothing changes system-wide, and root is not needed.
"""

import shutil
from pathlib import Path

from tests.programs import install


def unpacked(package: str, *, alone: bool = False) -> Path:
    """The root of a package's files, with the libraries that this machine lacks unless `alone`."""
    folder = install.cache() / package
    with install.alone(install.cache() / f"{package}.lock"):
        if not folder.is_dir():
            with install.drafted(folder) as draft:
                _fetch(package, draft, alone=alone)
    return folder / "root"


def _fetch(package: str, draft: Path, *, alone: bool) -> None:
    for part in ("lists", "archives"):
        (draft / part / "partial").mkdir(parents=True)
    options = {
        "Dir::State::Lists": draft / "lists",
        "Dir::Cache": draft,
        "Debug::NoLocking": 1,  # the locks are the system's, and so is what they guard
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(f"--option={name}={value}" for name, value in options.items())]
    install.call(*apt, "update", at=draft)
    if alone:
        install.call(*apt, "download", package, at=draft)
    else:
        wanted = ("--assume-yes", "--no-install-recommends", "--download-only", "install", package)
        install.call(*apt, *wanted, at=draft)
    for file in draft.rglob("*.deb"):
        install.call("dpkg-deb", "--extract", str(file), "root", at=draft)
        file.unlink()
    for part in ("lists", "archives"):
        shutil.rmtree(draft / part)
