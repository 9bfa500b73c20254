"""Programs that are logged out: what humans are told, and that nobody waits in vain."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import tomlkit

from codefleet.coders import registry
from codefleet.config import Config
from codefleet.domain.model import Task
from codefleet.domain.validation import checked
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from codefleet.runner.programs import login
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

Add = Callable[..., Awaitable[Task]]

REFUSED = {"type": "assistant", "error": "authentication_failed", "message": {"content": []}}
RETRY = {"type": "system", "subtype": "api_retry", "max_retries": 10, "error_status": 401}
NEEDS_A_KEY = f"""
import json, os, pathlib
if not os.environ.get("ANTHROPIC_API_KEY"):
    print({json.dumps(REFUSED)!r})
    raise SystemExit(1)
pathlib.Path("made.txt").write_text("made\\n")
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "Done."}}))
"""
TRIES_FOR_MINUTES = f"""
import json, signal
for attempt in range(1, 11):
    print(json.dumps({RETRY!r} | {{"attempt": attempt}}), flush=True)
signal.pause()
"""


def configure(fleet: Fleet, program: Path, code: str, **settings: object) -> None:
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)
    coders = {"claude": {"program": str(program)}}
    (fleet.home / "fleet.toml").write_text(tomlkit.dumps({"coders": coders, **settings}))


async def test_a_key_that_is_not_passed_on_is_told_with_the_command_that_does(
    fleet: Fleet,
    repo: SampleRepo,
    crew: Crew,
    add: Add,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-a-key-of-the-user")
    program = tmp_path / "claude"
    configure(fleet, program, NEEDS_A_KEY, environment=["AWS_*"])
    task = await add("Make it", coder="claude")
    await crew.work()
    [item] = await fleet.inbox()
    assert item.text == (
        "claude is logged out: ANTHROPIC_API_KEY is set, but agents see only the variables that "
        "`environment` names: `fleet config set environment 'AWS_*,ANTHROPIC_API_KEY'`, then "
        "`fleet coders wake claude`"
    )
    assert (await fleet.why([await fleet.get(task.id)]))[task.id].text == item.text
    configure(fleet, program, NEEDS_A_KEY, environment=["AWS_*", "ANTHROPIC_API_KEY"])
    await fleet.wake("claude")
    await crew.work()
    assert (await fleet.get(task.id)).state is State.COMPLETED
    assert repo.read("main", "made.txt") == "made\n"


async def test_a_wrong_key_is_heard_at_the_second_refusal_and_the_program_is_stopped(
    fleet: Fleet, crew: Crew, add: Add, tmp_path: Path
) -> None:
    configure(fleet, tmp_path / "claude", TRIES_FOR_MINUTES)
    task = await add("Make it", coder="claude")
    await crew.work()
    [run] = await fleet.runs_of(task.id)
    assert (run.outcome, run.reason) == (Outcome.RELEASED, Reason.AUTH), run.note
    assert (await fleet.get(task.id)).attempts == 0
    [item] = await fleet.inbox()
    assert item.text.startswith("claude is logged out: log in (run `claude auth login`")


KEYS = [(name, key) for name in registry.names() for key in registry.coder(name).abilities.keys]


@pytest.mark.parametrize(("name", "key"), KEYS)
def test_every_key_of_every_coder_is_known_to_be_withheld_until_it_is_passed_on(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in registry.coder(name).abilities.keys:
        monkeypatch.delenv(each, raising=False)
    coder, told = registry.coder(name), Config(environment=(key,))
    given = checked(Config, {"coders": {name: {"env": {key: "k"}}}})
    assert login.missing_variables(coder, Config()) == []
    monkeypatch.setenv(key, "k")
    assert login.missing_variables(coder, Config()) == [key]
    assert login.missing_variables(coder, told) == login.missing_variables(coder, given) == []


def test_the_address_of_a_gateway_belongs_to_the_key_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claude = registry.coder("claude")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    assert login.missing_variables(claude, Config()) == []
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    both = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]
    assert login.missing_variables(claude, Config()) == both
    assert login.missing_variables(claude, Config(environment=("ANTHROPIC_API_KEY",))) == both[1:]
    assert login.missing_variables(claude, Config(environment=tuple(both))) == []


def test_a_key_that_only_the_programs_own_settings_name_is_known_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_GATEWAY_KEY", "k")
    words = "Missing environment variable: `MY_GATEWAY_KEY`. See PATH and CODEX_HOME."
    assert login.missing_variables(registry.coder("codex"), Config(), words) == ["MY_GATEWAY_KEY"]
