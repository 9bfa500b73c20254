"""Context limits apply to every coder that reports its context, by its model's window."""

import json
import sys
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from codefleet.coders import registry
from codefleet.config import Config
from codefleet.domain.model import Task
from codefleet.domain.signals import Filled, Started, Window
from codefleet.domain.validation import checked
from codefleet.domain.words import Outcome, Reason, State
from codefleet.fleet import Fleet
from codefleet.runner.limits import context_window
from codefleet.runner.output.transcript import OutputState
from tests.gitrepo import SampleRepo
from tests.stories.conftest import Crew

pytestmark = pytest.mark.slow

Add = Callable[..., Awaitable[Task]]
Lines = list[dict[str, Any]]


def claude(used: int) -> Lines:
    message = {"id": "m", "model": "claude-haiku-4-5", "usage": {"input_tokens": used}}
    init = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-haiku-4-5"}
    return [init, {"type": "assistant", "message": {**message, "content": []}}]


def opencode(used: int) -> Lines:
    part = {"reason": "tool-calls", "tokens": {"input": used, "output": 0}}
    return [{"type": "step_finish", "sessionID": "s", "part": part}]


def codex(used: int) -> Lines:
    info = {"last_token_usage": {"total_tokens": used}, "model_context_window": 200_000}
    return [{"type": "token_count", "info": info}]


def command(used: int) -> Lines:
    return [{"type": "context", "used": used}]


END = {
    "claude": {"type": "result", "subtype": "success", "is_error": False, "result": "Done."},
    "opencode": {"type": "step_finish", "part": {"reason": "stop"}},
    "codex": {"type": "turn.completed"},
    "command": {"type": "finished"},
}
REPORTS = {"claude": claude, "opencode": opencode, "codex": codex, "command": command}
PROGRAM = """#!{python}
import json, os, pathlib, signal
again = os.environ["FLEET_RUN"].endswith(".2")
pathlib.Path("second.txt" if again else "first.txt").write_text("made\\n")
for line in {end} if again else {full}:
    print(json.dumps(line), flush=True)
if not again:
    signal.pause()
"""


def configure(fleet: Fleet, program: Path, coder: str) -> None:
    full, end = (json.dumps(lines) for lines in (REPORTS[coder](190_000), [END[coder]]))
    end, full = end.replace("false", "False"), full.replace("false", "False")
    program.write_text(PROGRAM.format(python=sys.executable, full=full, end=end))
    program.chmod(0o755)
    named = {"argv": [str(program)]} if coder == "command" else {"program": str(program)}
    settings = {"coders": {coder: named}, "windows": {"house-model": 200_000}}
    (fleet.home / "fleet.toml").write_text(tomlkit.dumps(settings))


@pytest.mark.parametrize("coder", REPORTS)
async def test_a_context_that_gets_full_is_continued_by_a_fresh_run(
    fleet: Fleet, repo: SampleRepo, crew: Crew, add: Add, tmp_path: Path, coder: str
) -> None:
    configure(fleet, tmp_path / "program", coder)
    model = None if coder == "claude" else "house-model"
    task = await add("Large", coder=coder, model=model)
    await crew.work()
    full, fresh = await fleet.runs_of(task.id)
    assert (full.outcome, full.reason) == (Outcome.RELEASED, Reason.CONTEXT_FULL), full.note
    assert full.note == "its context is 95% full: 190,000 of 200,000 tokens"
    assert (await fleet.get(task.id)).state is State.COMPLETED, fresh.note
    assert repo.read("main", "first.txt") == repo.read("main", "second.txt") == "made\n"


def heard(*signals: Any) -> OutputState:
    found = OutputState()
    for signal in signals:
        found.take(signal)
    return found


OWN = checked(Config, {"windows": {"gpt-9*": 300, "claude-opus-5-5": 500, "opencode": 700}})
OPUS, RUN = Started("s", "claude-opus-5-5"), "gpt-9.1"


@pytest.mark.parametrize(
    ("found", "model", "settings", "size"),
    [
        pytest.param(heard(OPUS), None, Config(), 1_000_000, id="as is known of the model"),
        pytest.param(heard(), "anthropic/claude-haiku-4-5", Config(), 200_000, id="of its own"),
        pytest.param(heard(), "claude-sonnet-4-5[1m]", Config(), 1_000_000, id="as its name says"),
        pytest.param(heard(OPUS), None, OWN, 500, id="as set"),
        pytest.param(heard(), RUN, OWN, 300, id="as set for such models"),
        pytest.param(heard(), None, OWN, 700, id="as set for the coder"),
        pytest.param(heard(), "nobody-knows", Config(), 0, id="unknown"),
        pytest.param(
            heard(OPUS, Window("claude-haiku-4-5", 5), Window("claude-opus-5-5", 9)),
            *(None, OWN, 9),
            id="as the program reports of this model",
        ),
        pytest.param(heard(OPUS, Filled(1, 8)), None, OWN, 8, id="as the program reports"),
    ],
)
def test_what_a_program_reports_wins_over_settings_and_these_over_what_is_known(
    found: OutputState, model: str | None, settings: Config, size: int
) -> None:
    assert context_window.size(found, model, "opencode", settings) == size


def test_claude_tells_the_windows_of_its_models() -> None:
    usage = {"claude-opus-5-5": {"inputTokens": 1, "contextWindow": 1_000_000}, "odd": {}}
    line = json.dumps({"type": "result", "modelUsage": usage})
    found = [each for each in registry.coder("claude").read(line) if isinstance(each, Window)]
    assert found == [Window("claude-opus-5-5", 1_000_000)]


def test_the_table_of_windows_is_dated_and_every_size_can_be_right() -> None:
    known = context_window.known_windows()
    assert date(2026, 11, 1) <= known.as_of
    assert all(32_000 <= size <= 2_000_000 for size in known.tokens.values())
