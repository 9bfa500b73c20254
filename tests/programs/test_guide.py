"""The commands on the page about the four programs, typed with the real programs."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from codefleet.testing.model_server import ModelServer
from tests.docs.pages import ROOT
from tests.gitrepo import SampleRepo
from tests.programs.conftest import BOUND_S, FIRST_TIME_S, at_hand
from tests.programs.install import PINS
from tests.programs.setups import SETUPS

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

PAGE = ROOT / "docs" / "how-to" / "use-claude-codex-gemini-opencode.md"
TITLES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
}
KEYS = {
    "claude": "ANTHROPIC_API_KEY",
    "codex": "CODEX_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "opencode": "ANTHROPIC_API_KEY",
}
HELLO: list[dict[str, object]] = [
    {"write": ["hello.txt", "Hello!\n"]},
    {"text": "Hello is written."},
]


def section(name: str) -> str:
    return PAGE.read_text().partition(f"\n## {TITLES[name]}\n")[2].partition("\n## ")[0]


def commands(name: str) -> list[str]:
    """The commands that a program's section tells its reader to type, without the install."""
    block = section(name).partition("```sh\n")[2].partition("```")[0]
    return [line for line in block.splitlines() if line.startswith("fleet ")]


def prepare(name: str, url: str, home: Path, tools: Path) -> None:
    """A program on the PATH that uses our server, and whose key comes only from the shell."""
    own: dict[str, str] = SETUPS[name](url, home)["env"]
    own = {key: value for key, value in own.items() if key not in (KEYS[name], "SCRIPTED_KEY")}
    if name == "claude":
        own["CLAUDE_CONFIG_DIR"] = str(home / "claude")
    if name == "codex":
        settings = (home / "codex").rename(home / ".codex") / "config.toml"
        settings.write_text(settings.read_text().replace("SCRIPTED_KEY", KEYS[name]))
    if name == "opencode":
        _call_it_anthropic(home / ".config" / "opencode" / "opencode.json")
    exports = "\n".join(f"export {key}='{value}'" for key, value in own.items())
    put(tools / name, f'{exports}\nexec {at_hand(name)} "$@"')


def _call_it_anthropic(settings: Path) -> None:
    """Our server's provider under the name in the page's example."""
    said = settings.read_text().replace('"m1"', '"claude-sonnet-5"')
    said = said.replace('"scripted/m1"', '"anthropic/claude-sonnet-5"')
    read = json.loads(said.replace('"scripted": {', '"anthropic": {'))
    read["provider"]["anthropic"]["npm"] = "@ai-sdk/anthropic"
    read["provider"]["anthropic"]["options"]["apiKey"] = "{env:ANTHROPIC_API_KEY}"
    settings.write_text(json.dumps(read))


def put(tool: Path, script: str) -> None:
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def typed(command: str, at: Path, env: Mapping[str, str]) -> str:
    """Type a command into a shell; it must succeed."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=at,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BOUND_S,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


@pytest.mark.parametrize("name", PINS)
def test_a_reader_who_types_the_commands_of_the_page_sees_the_work_land(
    name: str, server: ModelServer, repo: SampleRepo, tmp_path: Path
) -> None:
    tools, home = tmp_path / "tools", tmp_path / "reader"
    tools.mkdir()
    home.mkdir()
    put(tools / "fleet", f'exec {sys.executable} -m codefleet "$@"')
    prepare(name, server.script("hello", *HELLO), home, tools)
    env = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "NO_COLOR": "1",
        KEYS[name]: "sk-of-the-reader",
    }
    said = {command: typed(command, repo.path, env) for command in commands(name)}
    assert f"coder {name}: {name} {PINS[name].version}" in said["fleet doctor"]
    assert repo.read("main", "hello.txt") == "Hello!\n"


@pytest.mark.parametrize("name", PINS)
def test_the_page_names_the_package_that_the_tests_install(name: str) -> None:
    assert f"npm install -g {PINS[name].package}\n" in section(name)
