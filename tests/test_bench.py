"""The benchmarks must run: one that nobody has run for a long time proves nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import KNOWN

from tests import postgres
from tests.store.conftest import skip_or_fail
from tests.web.chromium import chromium

ROOT = Path(__file__).parents[1]
BOUND_S = 300
ON_A_SERVER = ("postgres", "libraries", "scale")


@pytest.mark.slow
@pytest.mark.parametrize("part", KNOWN)
def test_every_measurement_can_be_made(part: str) -> None:
    if part in ON_A_SERVER:
        skip_or_fail(postgres.missing())
    if part == "dashboard":
        chromium()
    quick = [sys.executable, "-m", "bench", part, "--quick"]
    made = subprocess.run(
        quick, cwd=ROOT, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert made.returncode == 0, made.stderr
    assert len(made.stdout.splitlines()) > 1
