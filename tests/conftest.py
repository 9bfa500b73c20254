"""What all tests share: one PostgreSQL server per test run, and a git that tests can script."""

import os
from pathlib import Path

import pytest

from tests import postgres
from tests.path import without_agents
from tests.trap import Trap


def pytest_configure() -> None:
    postgres.share()
    os.environ["PATH"] = without_agents(os.environ["PATH"])


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    """A git that comes before the real one, and does what the test plans."""
    trap = Trap(tmp_path / "trap")
    monkeypatch.setenv("PATH", f"{trap.folder}{os.pathsep}{os.environ['PATH']}")
    return trap
