"""`fleet init` finds a logged-in agent program, and `fleet add` warns of a missing one."""

from pathlib import Path

import pytest

from tests.doors.conftest import Cli
from tests.doors.test_doctor import LOGGED_OUT, Bench, bench
from tests.gitrepo import SampleRepo

__all__ = ["bench"]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def chosen(home: Path) -> str:
    lines = (home / "fleet.toml").read_text().splitlines()
    return next((line for line in lines if line.startswith("coder = ")), "")


def test_a_program_that_is_logged_in_becomes_the_coder_and_init_says_so(
    cli: Cli, repo: SampleRepo, home: Path, bench: Bench
) -> None:
    bench.claude()
    said = cli("init").err
    assert chosen(home) == 'coder = "claude"'
    assert "tasks go to claude (change it: `fleet config set coder NAME`)" in said
    assert "warning" not in cli("add", "Paint the mug").err


def test_of_several_the_first_in_the_order_is_taken_and_the_others_are_named(
    cli: Cli, repo: SampleRepo, home: Path, bench: Bench
) -> None:
    bench.claude(status=LOGGED_OUT)
    bench.put("codex", "echo 'Logged in using ChatGPT'")
    bench.put("gemini", "exit 1")
    settings = home.parent / ".gemini" / "oauth_creds.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    said = cli("init").err
    assert chosen(home) == 'coder = "codex"'
    assert "tasks go to codex; also ready: gemini" in said


def test_a_program_whose_key_is_only_not_passed_on_is_taken_with_the_command_that_does(
    cli: Cli, repo: SampleRepo, home: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.claude(status=LOGGED_OUT)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-any")
    said = cli("init").err
    assert chosen(home) == 'coder = "claude"'
    assert "`fleet config set environment ANTHROPIC_API_KEY`" in said


def test_a_program_that_cannot_be_run_is_named_and_not_taken(
    cli: Cli, repo: SampleRepo, home: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("claude", "")
    (bench.folder / "claude").write_text("neither a program nor a script")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-any")
    said = cli("init").err
    assert chosen(home) == ""
    assert "claude is installed, but `claude auth status` cannot be run: Exec format error" in said


def test_a_program_that_is_logged_out_is_named_and_not_taken(
    cli: Cli, repo: SampleRepo, home: Path, bench: Bench
) -> None:
    bench.claude(status=LOGGED_OUT)
    said = cli("init").err
    assert chosen(home) == ""
    assert "claude is installed, but not logged in: run `claude auth login`" in said
    assert "`fleet config set coder claude`" in said


def test_without_any_program_init_says_what_scripted_is_and_how_to_get_one(
    cli: Cli, repo: SampleRepo, home: Path, bench: Bench
) -> None:
    said = cli("init").err
    assert chosen(home) == ""
    assert "tasks go to `scripted`, which runs the script in a task" in said
    assert "npm install -g @anthropic-ai/claude-code" in said
    assert "goes to `scripted`" in cli("add", "Paint the mug").err


def test_settings_that_are_there_already_stay_as_they_are(
    cli: Cli, repo: SampleRepo, home: Path, bench: Bench
) -> None:
    cli("init")
    before = (home / "fleet.toml").read_text()
    bench.claude()
    assert "tasks go to" not in cli("init").err
    assert (home / "fleet.toml").read_text() == before


@pytest.mark.parametrize(
    ("coder", "told"),
    [("goose", "goose is not installed here"), ("claud", "no coder 'claud': did you mean claude?")],
)
def test_a_coder_that_only_the_repos_own_settings_name_is_told_too(
    fleet: Cli, repo: SampleRepo, bench: Bench, coder: str, told: str
) -> None:
    (repo.path / "fleet.toml").write_text(f'coder = "{coder}"\n')
    repo.commit()
    fleet("run", "--until-idle")
    assert f"warning: {told}" in fleet("add", "Paint the mug").err


def test_a_missing_program_is_told_when_the_task_is_added_and_when_it_is_to_run(
    fleet: Cli, bench: Bench
) -> None:
    added = fleet("add", "Paint the mug", "--coder", "goose", "-q")
    told = "goose is not installed here: install it (`npm install -g @aaif/goose`)"
    assert f"warning: {told}" in added.err
    assert fleet("run", "--until-idle").code != 0
    shown = fleet("show", added.out.strip()).out
    assert '"coder_missing"' in fleet("show", added.out.strip(), "--json").out
    assert "goose is not installed here" in shown
    assert "install it (`npm install -g @aaif/goose`), or name another program" in shown
    assert "No such file" not in shown
