"""What the doctor reports about agent programs: small real programs on the PATH."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codefleet.coders import registry
from codefleet.runner.programs import probe
from tests.doors.conftest import Cli
from tests.gitrepo import SampleRepo

HELP = " ".join(
    flag for argv in probe.calls(registry.coder("claude"), {}) for flag in probe.flags(argv)
)
LOGGED_IN = """'{"loggedIn": true}'"""
LOGGED_OUT = """'{"loggedIn": false}'"""


class Bench:
    """A folder of programs that is all there is on the PATH, besides git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("git", "sleep"):
            (folder / name).symlink_to(str(shutil.which(name)))

    def put(self, name: str, script: str) -> None:
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def claude(self, *, help: str = HELP, status: str = LOGGED_IN, version: str = "2.1.0") -> None:
        answers = (
            f"--version) echo '{version} (Claude Code)';;",
            f"--help) echo 'Options: {help}';;",
            f"auth) echo {status};;",
        )
        self.put("claude", "\n".join(("case $1 in", *answers, "esac")))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(bench.folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr(probe, "ANSWERS_WITHIN_S", 10.0)
    return bench


@pytest.fixture
def needed(fleet: Cli, bench: Bench) -> Cli:
    """A fleet whose coder is claude."""
    assert fleet("config", "set", "coder", "claude").code == 0
    return fleet


def test_a_program_that_is_fit_for_work_is_told_with_its_version(needed: Cli, bench: Bench) -> None:
    bench.claude()
    result = needed("doctor")
    assert result.code == 0, result.out
    assert f"ok    coder claude: claude 2.1.0, logged in ({bench.folder}/claude)" in result.out


def test_programs_tell_about_themselves_in_json_too(needed: Cli, bench: Bench) -> None:
    bench.claude(status=LOGGED_OUT)
    findings = json.loads(needed("doctor", "--json").out)
    [facts] = [each["facts"] for each in findings if each["facts"].get("coder") == "claude"]
    assert facts == {
        "coder": "claude",
        "name": "claude",
        "path": f"{bench.folder}/claude",
        "version": "2.1.0",
        "missing_flags": [],
        "logged_in": False,
        "silent": "",
    }


def test_a_program_that_is_needed_and_not_there_is_to_be_mended(needed: Cli, bench: Bench) -> None:
    result = needed("doctor")
    assert result.code == 1
    assert "the program claude was not found, but the setting `coder` of the fleet" in result.out


def test_a_key_that_agents_do_not_see_is_told_with_the_command_that_passes_it_on(
    needed: Cli, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.claude(status=LOGGED_OUT)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-any")
    result = needed("doctor")
    assert result.code == 1
    assert "claude 2.1.0 is not logged in: ANTHROPIC_API_KEY is set, but agents" in result.out
    assert "pass it on: `fleet config set environment ANTHROPIC_API_KEY`" in result.out
    needed("config", "set", "environment", "ANTHROPIC_API_KEY")
    assert "pass it on" not in needed("doctor").out
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    told = needed("doctor").out
    assert "pass it on: `fleet config set environment ANTHROPIC_API_KEY,ANTHROPIC_BASE_URL`" in told


def test_rules_that_a_configured_coder_never_asks_about_are_told(fleet: Cli, home: Path) -> None:
    rule = '[[policy]]\ntool = "shell"\nthen = "deny"\n'
    (home / "fleet.toml").write_text(f'{rule}[coders.codex]\nmodel = "gpt-5.5"\n')
    told = fleet("doctor").out
    assert "codex does not ask" in told
    assert "gemini does not ask" not in told


def test_programs_that_nobody_needs_may_be_missing(fleet: Cli, bench: Bench) -> None:
    result = fleet("doctor")
    assert result.code == 0, result.out
    assert "not installed: programs for acp, agy, aider, claude" in result.out


@pytest.mark.parametrize("code", [0, 1], ids=["nobody needs it", "it is needed"])
def test_an_old_program_is_told_by_the_flags_it_lacks(fleet: Cli, bench: Bench, code: int) -> None:
    bench.claude(help=HELP.replace("--permission-mode", "--permission-modes"), version="1.0")
    if code:
        fleet("config", "set", "coder", "claude")
    result = fleet("doctor")
    assert result.code == code
    assert "claude 1.0 does not support --permission-mode\n" in result.out


def test_a_program_that_hangs_is_told_and_ended(
    needed: Cli, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "ANSWERS_WITHIN_S", 0.5)
    pid = tmp_path / "pid"
    bench.put("claude", f"echo $$ > {pid}; sleep 300")
    result = needed("doctor")
    assert result.code == 1
    assert "`claude --version` did not end within 0.5 s" in result.out
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_program_that_never_stops_talking_is_told_and_ended(
    needed: Cli, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "ANSWERS_WITHIN_S", 0.5)
    bench.put("claude", "while true; do echo 1.2.3 --help; done")
    assert "did not end within" in needed("doctor").out


@pytest.mark.parametrize(
    "script",
    ["printf '\\377\\000\\033[31m{'", "exit 3", "kill -9 $$"],
    ids=["garbage", "3", "killed"],
)
def test_another_program_of_that_name_is_told_by_the_flags_it_lacks(
    needed: Cli, bench: Bench, script: str
) -> None:
    bench.put("claude", script)
    result = needed("doctor")
    assert result.code == 1
    assert "claude does not support -p, --" in result.out
    assert "\x1b" not in result.out


def test_a_file_that_is_no_program_is_told(needed: Cli, bench: Bench) -> None:
    (bench.folder / "claude").write_bytes(b"\x7fELF nonsense")
    (bench.folder / "claude").chmod(0o755)
    result = needed("doctor")
    assert result.code == 1
    assert "`claude --version` cannot be run: Exec format error" in result.out


def test_a_login_is_looked_for_as_agents_would_see_it(
    needed: Cli, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.claude(status='''"{\\"loggedIn\\": ${ANTHROPIC_API_KEY:-false}}"''')
    monkeypatch.setenv("ANTHROPIC_API_KEY", "true")
    result = needed("doctor")
    assert result.code == 1
    assert "claude 2.1.0 is not logged in" in result.out
    assert "fleet config set environment ANTHROPIC_API_KEY" in result.out
    needed("config", "set", "environment", "ANTHROPIC_API_KEY")
    assert needed("doctor").code == 0


def test_the_users_own_arguments_are_not_judged(needed: Cli, bench: Bench) -> None:
    bench.claude()
    needed("config", "set", "coders.claude.args", '["--a-hidden-flag=1"]')
    assert needed("doctor").code == 0


def test_options_that_a_coder_cannot_use_are_told(needed: Cli, bench: Bench) -> None:
    needed("config", "set", "coders.claude.effort", "high")
    result = needed("doctor")
    assert result.code == 1
    assert "coder claude: " in result.out


def test_a_coder_that_a_rule_names_is_needed(fleet: Cli, bench: Bench, home: Path) -> None:
    rules = '[[route]]\nname = "hard"\ncoder = "codex"\n[[route]]\nname = "odd"\ncoder = "nobody"\n'
    (home / "fleet.toml").write_text(rules)
    result = fleet("doctor")
    assert result.code == 1
    assert "the coder nobody is not installed, but the rule odd of the fleet names it" in result.out
    assert "the program codex was not found, but the rule hard of the fleet names it" in result.out


def test_a_fallback_is_needed(fleet: Cli, bench: Bench) -> None:
    fleet("config", "set", "fallback", "codex")
    result = fleet("doctor")
    assert result.code == 1
    assert "but the setting `fallback` of the fleet names it" in result.out


def test_a_coder_that_a_repo_names_is_needed(fleet: Cli, bench: Bench, repo: SampleRepo) -> None:
    repo.write("fleet.toml", 'coder = "gemini"\n')
    repo.commit("settings")
    result = fleet("doctor")
    assert result.code == 1
    assert "the setting `coder` of the repo shop names it" in result.out


def test_a_coder_that_an_unfinished_task_names_is_needed(fleet: Cli, bench: Bench) -> None:
    fleet("add", "Paint", "--coder", "codex")
    result = fleet("doctor")
    assert result.code == 1
    assert "the program codex was not found, but task " in result.out
    [task] = json.loads(fleet("list", "--json").out)
    fleet("cancel", task["id"])
    assert fleet("doctor").code == 0


def test_settings_for_a_repo_that_there_is_not_are_told(fleet: Cli, bench: Bench) -> None:
    fleet("config", "set", "repos.shpo.checks", "make test")
    said = fleet("doctor").out
    assert "[repos.shpo] holds for nothing: no repo has that name" in said
    assert "did you mean shop?" in said


def test_the_command_coders_program_is_looked_for(fleet: Cli, bench: Bench) -> None:
    fleet("config", "set", "coders.command.argv", '["no-such-agent"]')
    result = fleet("doctor")
    assert result.code == 0
    assert "the program no-such-agent was not found" in result.out
    bench.put("no-such-agent", "exit 0")
    assert "coder command: no-such-agent (" in fleet("doctor").out


@pytest.mark.parametrize("said", ["git version 2.30.1", "hello", ""])
def test_a_git_that_is_too_old_or_no_git_is_to_be_mended(
    fleet: Cli, bench: Bench, said: str
) -> None:
    (bench.folder / "git").unlink()
    bench.put("git", f"echo '{said}'")
    result = fleet("doctor")
    assert result.code == 1
    assert "install git 2.39 or newer" in result.out


def test_nothing_is_left_in_the_users_folders(needed: Cli, bench: Bench, tmp_path: Path) -> None:
    bench.put("claude", "pwd > $HOME/where; : > made")
    before = set(Path().iterdir())
    needed("doctor")
    assert set(Path().iterdir()) == before
    assert not Path((tmp_path / "where").read_text().strip()).exists()


def test_a_worktree_in_which_somebody_works_is_named_with_the_process(
    fleet: Cli, bench: Bench, home: Path, repo: SampleRepo
) -> None:
    folder = home / "worktrees" / repo.path.name / "1"
    folder.mkdir(parents=True)
    with subprocess.Popen(["sleep", "600"], cwd=folder) as shell:
        told = fleet("doctor").out
        shell.kill()
    assert f"worktree {folder} is not used: sleep (process {shell.pid}) is working in it" in told


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("", ["platform Linux on Linux\n"]),
        ("posix", ["platform POSIX on Linux, which is weaker", "clears its environment is not"]),
        ("macos", ["platform Linux on Linux\n", "FLEET_PLATFORM=macos has no effect"]),
    ],
)
def test_the_doctor_names_the_platform_and_what_is_weaker_on_it(
    fleet: Cli, asked: str, told: list[str]
) -> None:
    env = {**os.environ, "FLEET_PLATFORM": asked}
    argv = [sys.executable, "-m", "codefleet", "doctor"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    for words in told:
        assert words in done.stdout
