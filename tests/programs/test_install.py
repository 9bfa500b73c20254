"""Installing the real programs: once, completely, and with a clear message if it fails."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.programs import install
from tests.programs.conftest import installed

NPM = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
mkdir -p node_modules/.bin && touch node_modules/.bin/gemini
echo '{"packages": {}}' > node_modules/.package-lock.json
"""
FOREIGN_NPM = """#!/bin/sh
mkdir -p node_modules/.bin && touch node_modules/.bin/gemini
echo '{"packages": {"node_modules/evil": {"integrity": "sha512-0"}}}' \
  > node_modules/.package-lock.json
"""
BROKEN_NPM = """#!/bin/sh
mkdir -p node_modules/.bin && touch node_modules/.bin/gemini
echo "the registry is not there" >&2
exit 1
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and without npm; returns the folder for its programs."""
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("dirname", "mkdir", "touch"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    return tools


def put_npm(machine: Path, text: str) -> None:
    (machine / "npm").write_text(text)
    (machine / "npm").chmod(0o755)


def test_many_who_need_a_program_install_it_once(machine: Path, tmp_path: Path) -> None:
    put_npm(machine, NPM)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(install.program, ["gemini"] * 4))
    assert len(found) == 1
    assert found.pop().is_relative_to(tmp_path / "cache" / "codefleet" / "programs")
    [call] = (machine / "calls").read_text().splitlines()
    assert call.startswith("install ")


@pytest.mark.parametrize(
    "pin",
    [
        *(*install.PINS.values(), *install.CLIENTS.values()),
        *(*install.BROWSERS.values(), *install.CHECKERS.values()),
    ],
)
def test_what_is_installed_is_known_by_its_hashes_and_not_by_an_address(pin: install.Pin) -> None:
    locked = json.loads(install._lock_of(pin).read_text())["packages"]
    assert locked.pop("")["dependencies"] == {pin.package: pin.version}
    assert locked
    assert all("integrity" in each and "resolved" not in each for each in locked.values())


def test_an_installation_that_failed_is_not_taken_for_a_program(machine: Path) -> None:
    put_npm(machine, BROKEN_NPM)
    with pytest.raises(install.NotInstallable, match="the registry is not there"):
        install.program("gemini")
    put_npm(machine, NPM)
    assert install.program("gemini").exists()


def test_a_package_that_the_lock_does_not_know_is_refused(machine: Path) -> None:
    put_npm(machine, FOREIGN_NPM)
    with pytest.raises(install.NotInstallable, match="does not lock node_modules/evil"):
        install.program("gemini")


def test_a_package_without_its_program_is_noticed(machine: Path) -> None:
    put_npm(machine, NPM)
    with pytest.raises(install.NotInstallable, match=r"claude-code@2\.1\.325 has no"):
        install.program("claude")


def test_without_npm_a_laptop_skips_and_says_why(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="npm is needed"):
        installed("gemini", "http://127.0.0.1", tmp_path)


def test_without_npm_ci_fails(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="npm is needed"):
        installed("gemini", "http://127.0.0.1", tmp_path)
