"""What only Linux has is used in one folder, and a use of it anywhere else is caught."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codefleet import platform
from codefleet.runner.process.custody import KEEPER
from tests.docs.pages import ROOT
from tests.platform.__main__ import TRAP
from tests.platform.trap.sitecustomize import FILES, GONE, RECORD

SOURCE = ROOT / "src" / "codefleet"
SPAWN = """
import os, sys
os.waitpid(os.posix_spawn(sys.executable, sys.argv[1:], os.environ), 0)
"""
NAMES = {name for names in GONE.values() for name in names} | {"prctl", "inotify_init1"}


def test_only_the_linux_folder_names_what_only_linux_has() -> None:
    found = {
        f"{file.relative_to(SOURCE)}: {name}"
        for file in SOURCE.rglob("*.py")
        if not file.is_relative_to(SOURCE / "platform" / "linux")
        for name in _linux_names(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == set()


def _linux_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.alias(name=name) if name in NAMES:
                yield name
            case ast.Constant(value=str(text)) if text.startswith(tuple(f"{f}/" for f in FILES)):
                yield text


@pytest.mark.parametrize(("value", "name"), [("posix", "posix"), ("", "linux")])
def test_the_platform_is_chosen_by_the_system_unless_posix_is_forced(value: str, name: str) -> None:
    code = "from codefleet import platform; print(platform.name())"
    env = {**os.environ, platform.VARIABLE: value}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert said.stdout.decode().strip() == name


@pytest.mark.parametrize(
    "needs", ["processes().started(1)", "machine().watch(None)", "machine().boot()"]
)
def test_the_trap_catches_what_needs_linux(tmp_path: Path, needs: str) -> None:
    done = trapped(tmp_path, "-c", f"from codefleet import platform; platform.{needs}")
    assert done.returncode
    assert "/platform/linux/" in (tmp_path / "record").read_text()


def test_the_trap_catches_a_keeper_that_needs_linux(tmp_path: Path) -> None:
    (tmp_path / "start.json").write_text('{"tag": "", "argv": []}')
    trapped(tmp_path, "-c", SPAWN, sys.executable, "-I", "-S", str(KEEPER), str(tmp_path))
    assert "/platform/linux/tree.py" in (tmp_path / "record").read_text()


def trapped(folder: Path, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """Python with the Linux platform, where Linux is out of reach."""
    (folder / "record").touch()
    env = {**os.environ, RECORD: str(folder / "record"), "PYTHONPATH": str(TRAP)}
    env[platform.VARIABLE] = ""
    return subprocess.run([sys.executable, *argv], env=env, capture_output=True, check=False)
