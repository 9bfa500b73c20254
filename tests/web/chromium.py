"""A real Chromium, which npm carries packed: unpacked once per machine, next to its package."""

import os
import subprocess
from pathlib import Path

from tests.programs.conftest import at_hand
from tests.programs.install import alone
from web.tools import node

UNPACK = "import packed from '@sparticuz/chromium'; await packed.executablePath();"
OPTIONS = ("--no-sandbox", "--disable-gpu", "--headless=shell", "--font-render-hinting=none")


def chromium() -> Path:
    """The program; if it cannot be installed, skip on a laptop and fail in CI."""
    folder = at_hand("chromium").parents[2]
    place = folder / "unpacked"
    with alone(folder / "unpacking.lock"):
        if not place.exists():
            draft = folder / f"unpacked.{os.getpid()}"
            draft.mkdir()
            _unpack(folder, draft)
            draft.rename(place)
    return place / "chromium"


def _unpack(folder: Path, place: Path) -> None:
    subprocess.run(
        [node.program("node"), "--input-type=module", "--eval", UNPACK],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(place)},
        check=True,
        capture_output=True,
    )
