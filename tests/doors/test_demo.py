"""The demo, on all kinds of machines: it is the first thing a newcomer runs."""

import subprocess
from pathlib import Path

import pytest

from tests.doors.conftest import program


@pytest.mark.slow
def test_the_demo_heeds_no_hook_and_no_key_of_the_user(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    settings = tmp_path / "settings"
    for key, value in {
        "commit.gpgsign": "true",
        "user.signingkey": "nobody's",
        "core.hooksPath": str(hooks),
    }.items():
        subprocess.run(["git", "config", "--file", settings, key, value], check=True)
    result = program("demo", env={"GIT_CONFIG_GLOBAL": str(settings)})
    assert result.code == 0, result.err
    assert "10 of 10 tasks landed on the trunk" in result.err


def test_the_demo_misses_git_in_a_sentence(tmp_path: Path) -> None:
    result = program("demo", env={"PATH": str(tmp_path)})
    assert (result.code, result.out) == (6, "")
    assert result.err == "error: git is not installed\nhint:  install git 2.39 or newer\n"
