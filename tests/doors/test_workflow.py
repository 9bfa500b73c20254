"""`fleet workflow`: files are checked, drawn and run; workflows are shown, stopped and removed."""

import json
import re
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from codefleet.domain.errors import NEEDS_HUMAN
from tests.doors.conftest import START, Cli, on_a_terminal
from tests.gitrepo import SampleRepo

pytestmark = pytest.mark.slow

FILE = """\
name: paint
prompt: Paint the shop
stages:
  - name: first
    prompt: |
      {task_prompt}
      ```fleet
      write a.txt one
      result completed Painted it
      ```
  - name: second
    needs: [first]
    inherit: true
    prompt: |
      Look: {first.summary}
      ```fleet
      append a.txt two
      ```
"""
BAD = {
    "yaml": """\
name: x
stages:
  - name: a
    prompt: p
  - name: b
    prompt: '{c.summary}'
""",
    "json": """\
{"stages": [
  {"name": "a", "prompt": "p"},


  {"name": "b", "prompt": "{c.summary}"}]}
""",
}
GATE = "stages:\n  - name: ask\n    gate: May I?\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "paint.yaml").write_text(FILE)
    return str(tmp_path / "paint.yaml")


def started(fleet: Cli, file: str) -> str:
    found: str = json.loads(fleet("workflow", "run", file, "--detach", "--json").out)["workflow"][
        "id"
    ]
    return found


def test_a_workflow_runs_to_its_end_without_another_runner(
    fleet: Cli, repo: SampleRepo, file: str
) -> None:
    done = fleet("workflow", "run", file)
    assert done.code == 0, done.err
    assert "1 ─  first" in done.out
    assert "██████████  completed" in done.out
    assert "Painted it" in done.out
    assert "completed, 2/2 stages done" in done.out


def test_on_a_terminal_each_stage_has_a_bar_that_fills(
    fleet: Cli, repo: SampleRepo, file: str
) -> None:
    shown = on_a_terminal("workflow", "run", file)
    assert "░░░░░░░░░░  pending" in shown
    assert shown.rstrip().count("██████████  completed") >= 2
    assert "2/2 stages done" in shown
    assert shown.endswith("\x1b[?25h")  # the cursor is back


def test_its_end_is_json_for_programs_and_nothing_else(fleet: Cli, file: str) -> None:
    stands = json.loads(fleet("workflow", "run", file, "--json").out)
    assert stands["state"] == "completed"
    collected = json.loads(fleet("workflow", "collect", stands["workflow"]["id"], "--json").out)
    assert [each["stage"] for each in collected["results"]] == ["second"]
    assert collected["results"][0]["files"] == ["a.txt"]


def test_a_workflow_is_shown_collected_and_put_away(
    fleet: Cli, repo: SampleRepo, file: str
) -> None:
    assert fleet("workflow", "run", file).code == 0
    listed = json.loads(fleet("workflow", "list", "--json").out)
    flow = listed[0]["workflow"]["id"]
    assert f"{flow}  completed  2/2     paint" in fleet("workflow", "list").out
    assert "2 ─  second" in fleet("workflow", "show", flow[:4]).out
    assert "  Painted it\n  files   a.txt" in fleet("workflow", "collect", flow, "--all").out
    assert "kept as refs/fleet/archive/" in fleet("workflow", "cleanup", flow).out
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads/fleet/") == ""
    assert len(repo.git("for-each-ref", "refs/fleet/archive/").splitlines()) == 2
    assert fleet("workflow", "cleanup", flow, "--json").out == "[]\n"


def test_a_queued_workflow_can_be_cancelled_and_retried_and_is_not_put_away(
    fleet: Cli, file: str
) -> None:
    flow = started(fleet, file)
    refused = fleet("workflow", "cleanup", flow)
    assert (refused.code, "is not over: paint: first is pending" in refused.err) == (4, True)
    assert "cancelled, 0/2" in fleet("workflow", "cancel", flow).out
    assert "pending, 0/2" in fleet("workflow", "retry", flow).out
    assert fleet("run", "--until-idle").code == 0
    assert "completed, 2/2" in fleet("workflow", "show", flow).out


def test_a_gate_is_shown_with_the_commands_that_answer_it_and_the_workflow_resumes(
    fleet: Cli, tmp_path: Path
) -> None:
    (tmp_path / "gate.yaml").write_text(GATE)
    asked = fleet("workflow", "run", str(tmp_path / "gate.yaml"))
    assert asked.code == NEEDS_HUMAN
    item = json.loads(fleet("inbox", "--json").out)[0]
    task = item["task"]
    assert "ask: May I?" in asked.err
    assert f"-> fleet answer {task} approve, or fleet answer {task} reject" in asked.err
    refused = fleet("answer", task, "perhaps")
    assert "answer the gate ask with approve or reject" in refused.err
    assert fleet("answer", task, "approve").code == 0
    command = re.search(r"then: fleet (workflow resume \w+)", asked.err)
    assert command
    assert fleet(*command[1].split()).code == 0
    assert re.search(r"completed +1/1", fleet("workflow", "list").out)


def test_a_workflow_leaves_the_rest_of_the_queue_alone(fleet: Cli, file: str) -> None:
    fleet("add", "Other", "-d", "```fleet\nwrite o.txt x\n```", "--priority", "5")
    fleet("add", "Later", "--not-before", "+1d")
    done = fleet("workflow", "run", file)
    assert done.code == 0, done.err
    tasks = {task["title"]: task["state"] for task in json.loads(fleet("list", "--json").out)}
    assert (tasks["Other"], tasks["Later"]) == ("pending", "pending")


def test_work_of_a_stage_that_waits_for_review_ends_the_command_and_needs_a_human(
    fleet: Cli, tmp_path: Path
) -> None:
    stage = {"name": "a", "landing": "review", "prompt": "```fleet\nwrite a.txt x\n```"}
    (tmp_path / "review.yaml").write_text(json.dumps({"stages": [stage]}))
    done = fleet("workflow", "run", str(tmp_path / "review.yaml"))
    assert done.code == NEEDS_HUMAN
    assert "waits for your review\n  -> fleet diff " in done.err


def test_a_workflow_does_not_wait_for_a_runner_that_takes_other_tasks_only(
    fleet: Cli, file: str
) -> None:
    command = [sys.executable, "-c", START, "run", "--coder", "claude"]
    with subprocess.Popen(command, stdout=PIPE, text=True) as runner:
        assert runner.stdout
        assert "runner.started" in runner.stdout.readline()
        done = fleet("workflow", "run", file, "--set", "coder=scripted")
        runner.terminate()
    assert done.code == 0, done.err


def test_a_failed_stage_is_told_by_the_exit_code(fleet: Cli, tmp_path: Path) -> None:
    stage = {"name": "a", "prompt": "```fleet\nbroke stuck x\n```"}
    (tmp_path / "bad.yaml").write_text(json.dumps({"stages": [stage]}))
    assert fleet("workflow", "run", str(tmp_path / "bad.yaml")).code == 1


def test_a_checked_file_is_drawn_and_nothing_starts(fleet: Cli, file: str) -> None:
    drawn = fleet("workflow", "check", file)
    assert " 1 ─  first   default\n 2 ─  second  default  ← first, inherits\n" in drawn.out
    assert json.loads(fleet("workflow", "check", file, "--json").out)["name"] == "paint"
    assert fleet("workflow", "list").out == ""


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_complaint_names_the_stage_and_its_line(cli: Cli, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"bad.{ending}"
    file.write_text(BAD[ending])
    refused = cli("workflow", "check", str(file))
    assert "line 5: stage 2 (b): {c.summary} names no stage" in refused.err
    assert refused.code == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [("[1, 2]", "this is not a workflow"), ("a: [", "is not YAML"), ("", "this is not a workflow")],
)
def test_what_is_no_workflow_is_refused(cli: Cli, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    assert says in cli("workflow", "check", str(tmp_path / "x.yaml")).err


def test_a_base_that_names_no_commit_is_refused_before_anything_starts(
    fleet: Cli, tmp_path: Path, file: str
) -> None:
    Path(file).write_text(f"base: nowhere\n{FILE}")
    assert "there is no commit 'nowhere'" in fleet("workflow", "run", file).err
    assert fleet("workflow", "list").out == ""


def test_fields_are_set_on_the_command_line(fleet: Cli, file: str) -> None:
    assert "claude" in fleet("workflow", "check", file, "--set", "second.coder=claude").out
    assert "is not FIELD=VALUE" in fleet("workflow", "check", file, "--set", "coder").err


def test_a_wide_graph_stays_readable_on_a_narrow_terminal(cli: Cli, tmp_path: Path) -> None:
    wide = [{"name": f"part-{n}", "prompt": "p"} for n in range(60)]
    join = {"name": "join", "prompt": "p", "needs": [each["name"] for each in wide]}
    file = tmp_path / "wide.json"
    file.write_text(json.dumps({"stages": [*wide, join]}))
    lines = cli("workflow", "check", str(file)).out.splitlines()
    assert len(lines) == 62
    assert lines[-1] == " 2 ─  join     default  ← part-0, part-1, part-2 and 57 more"


def test_a_stage_that_is_blocked_says_why_and_one_that_waits_again_has_no_bar(
    fleet: Cli, tmp_path: Path
) -> None:
    blocked = {"name": "a", "prompt": "```fleet\nresult blocked No key.\n```"}
    broken = {"name": "b", "prompt": "```fleet\nbroke stuck x\n```"}
    (tmp_path / "two.yaml").write_text(json.dumps({"stages": [blocked, broken]}))
    shown = fleet("workflow", "run", str(tmp_path / "two.yaml"))
    assert any("blocked" in line and "No key." in line for line in shown.out.splitlines())
    flow = json.loads(fleet("workflow", "list", "--json").out)[0]["workflow"]["id"]
    assert "░░░░░░░░░░  pending" in fleet("workflow", "retry", flow).out


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.yaml", "stages: [{name: a}]\nstages: [{name: b}]\n", "line 2: 'stages' is given twice"),
        ("x.yaml", "stages:\n- name: a\n  prompt: p\n  name: b\n", "line 4: 'name' is given twice"),
        ("x.json", '{"stages": [], "stages": []}', "'stages' is given twice"),
    ],
)
def test_what_is_said_twice_is_refused_and_not_dropped(
    fleet: Cli, tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    refused = fleet("workflow", "check", str(tmp_path / name))
    assert refused.code == 2
    assert says in refused.err


def test_lists_say_that_a_stage_failed_although_its_workflow_went_on_and_why_others_are_cancelled(
    fleet: Cli, tmp_path: Path
) -> None:
    fleet("config", "set", "attempts", "1")
    talk = "```fleet\nsay nothing\n```"
    stages = [
        {"name": "tried", "prompt": talk, "on_failure": "continue"},
        {"name": "bad", "prompt": talk},
        {"name": "after", "prompt": talk, "needs": ["bad"]},
    ]
    (tmp_path / "w.yaml").write_text(json.dumps({"name": "w", "stages": stages}))
    done = fleet("workflow", "run", str(tmp_path / "w.yaml"))
    assert (done.code, "0/3 stages done" in done.out) == (1, True)
    listed = fleet("list", "--all").out
    why = "claimed to be done but changed nothing: .*"
    assert re.search(rf"failed +3 +w: tried +{why}; its workflow continued", listed)
    assert re.search(rf"failed +3 +w: bad +{why}", listed)
    assert re.search(r"cancelled +3 +w: after +it needs bad, which failed", listed)
