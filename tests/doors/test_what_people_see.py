"""What people see: a task's repo, the command they meant, and what its agents noted."""

import json
from pathlib import Path

import pytest

from tests.doors.conftest import Cli
from tests.gitrepo import make_repo
from tests.script import script


def test_a_list_shows_the_repo_once_there_are_several(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet("add", "Paint")
    assert "REPO" not in fleet("list").out
    monkeypatch.chdir(make_repo(tmp_path / "mail", {"a.txt": "a"}).path)
    fleet("init")
    for command in ("list", "ready", "status"):
        out = fleet(command).out
        assert "REPO" in out
        assert "shop" in out


def test_a_repo_that_does_not_exist_is_an_error(fleet: Cli) -> None:
    refused = fleet("list", "--repo", "shpo")
    assert (refused.code, refused.out) == (3, "")
    assert "no repository shpo" in refused.err
    assert "did you mean shop?" in refused.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("add", "x", "--coder", "cluade"), "did you mean claude?"),
        (("workflow", "lst"), "there is no command 'lst'; did you mean list?"),
        (("config", "shwo"), "there is no command 'shwo'; did you mean show?"),
        (("config", "set", "agnets", "3"), "did you mean agents?"),
        (("statsu",), "did you mean status?"),
    ],
)
def test_what_was_probably_meant_is_said(fleet: Cli, command: tuple[str, ...], says: str) -> None:
    refused = fleet(*command)
    assert refused.code in (2, 3)
    assert says in refused.err


def test_a_slip_in_an_id_is_seen_and_a_workflow_is_not_taken_for_a_task(
    fleet: Cli, tmp_path: Path
) -> None:
    task = fleet("add", "-q", "Paint").out.strip()
    assert f"did you mean {task}?" in fleet("show", f"{task[:-1]}0").err
    (tmp_path / "w.yaml").write_text("stages:\n  - name: a\n    prompt: p\n")
    run = fleet("workflow", "run", str(tmp_path / "w.yaml"), "--detach", "--json")
    flow = json.loads(run.out)["workflow"]["id"]
    assert f"fleet workflow show {flow}" in fleet("show", flow).err
    assert f"did you mean {flow}?" in fleet("workflow", "show", f"{flow[:-1]}0").err


def test_a_task_is_shown_with_its_plan_its_knowledge_and_its_questions(fleet: Cli) -> None:
    steps = (
        "shell echo 'Step one of two' > .codefleet/PLAN_AND_STATUS.md",
        "shell echo 'The till is in cents' > .codefleet/KNOWLEDGE.md",
        "ask Which colour?",
    )
    task = fleet("add", "-q", "Paint", "-d", script(*steps)).out.strip()
    fleet("run", "--until-idle")
    shown = fleet("show", task).out
    assert "plan and status:\n  Step one of two" in shown
    assert "knowledge:\n  The till is in cents" in shown
    assert "Which colour?\n    -> not answered yet" in shown
    fleet("answer", task, "blue")
    assert "Which colour?\n    -> blue" in fleet("show", task).out


def test_a_model_that_there_is_not_is_no_missing_program(fleet: Cli) -> None:
    fleet("add", "Paint", "-d", script("broke coder_missing no such model"))
    fleet("run", "--until-idle")
    assert "no usable agent: no such model" in fleet("list").out
