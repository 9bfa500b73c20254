"""The doctor and the real programs: found, queried, and known to be logged in or not."""

import os
from pathlib import Path

import pytest

from codefleet.config import Config
from codefleet.domain.validation import checked
from codefleet.runner.doctor.coder_programs import check_coders
from codefleet.runner.doctor.findings import Finding
from tests.programs.conftest import FIRST_TIME_S, installed
from tests.programs.install import PINS

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

NOWHERE = "http://127.0.0.1:9"
KEYS = {
    "claude": {"ANTHROPIC_API_KEY": "sk-any"},
    "codex": {},
    "gemini": {"GEMINI_API_KEY": "any"},
    "opencode": {"OPENAI_API_KEY": "any"},
}
NEEDS_NO_LOGIN = "opencode"
"""It also works with models on the same machine."""


async def asked(name: str, folder: Path, env: dict[str, str]) -> Finding:
    """The finding when this program is needed and is in this folder with this environment."""
    program = installed(name, NOWHERE, folder / "setup")["program"]
    home = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": os.environ["PATH"]}
    options = {name: {"program": program, "env": {**home, **env}}}
    config = checked(Config, {"coder": name, "coders": options})
    found = await check_coders(config, {name: "a test"})
    [finding] = [each for each in found if each.facts.get("coder") == name]
    return finding


@pytest.mark.parametrize("name", PINS)
async def test_every_flag_that_we_use_is_in_the_programs_help(name: str, tmp_path: Path) -> None:
    finding = await asked(name, tmp_path, {})
    assert finding.facts["version"] == PINS[name].version
    assert finding.facts["missing_flags"] == ()
    assert finding.facts["silent"] == ""


@pytest.mark.parametrize("name", PINS)
async def test_a_fresh_program_is_not_logged_in(name: str, tmp_path: Path) -> None:
    finding = await asked(name, tmp_path, {})
    assert finding.facts["logged_in"] is (None if name == NEEDS_NO_LOGIN else False)
    assert bool(finding.mend) is (name != NEEDS_NO_LOGIN)
    assert finding.must


@pytest.mark.parametrize("name", PINS)
async def test_a_program_with_a_key_is_logged_in(name: str, tmp_path: Path) -> None:
    account = tmp_path / ".codex"
    account.mkdir()
    (account / "auth.json").write_text('{"OPENAI_API_KEY": "sk-any"}')
    finding = await asked(name, tmp_path, KEYS[name])
    assert finding.facts["logged_in"] is True
    assert finding.mend == ""
