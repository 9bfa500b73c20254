"""`fleet add`: arguments become a task; a file becomes many tasks or none."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.doors.conftest import Cli, program
from tests.gitrepo import SampleRepo, make_repo


def added(fleet: Cli, *args: str) -> str:
    result = fleet("add", "-q", *args)
    assert result.code == 0, result.err
    return result.out.strip()


def shown(fleet: Cli, task: str) -> dict[str, object]:
    task_: dict[str, object] = json.loads(fleet("show", task, "--json").out)["task"]
    return task_


def test_adding_prints_the_id_and_the_title(fleet: Cli) -> None:
    result = fleet("add", "Extract the mailer")
    task, title = result.out.strip().split("  ", 1)
    assert title == "Extract the mailer"
    assert shown(fleet, task)["state"] == "pending"


def test_every_option_becomes_a_field(fleet: Cli) -> None:
    first = added(fleet, "First")
    options = (
        *("-d", "All of it", "--priority", "5", "--label", "b", "--label", "a"),
        *("--scope", "src/mail/**", "--needs", first[:5], "--check", "make test"),
        *("--coder", "command", "--model", "large", "--budget", "2.5", "--budget-tokens", "1000"),
        *("--not-before", "2199-01-02T03:04Z", "--attempts", "7", "--timeout", "60"),
        *("--assign", "agent-1"),
    )
    task = shown(fleet, added(fleet, "Second", *options))
    expected = {
        "prompt": "All of it",
        "priority": 5,
        "labels": ["a", "b"],
        "scope": ["src/mail/**"],
        "needs": [first],
        "checks": ["make test"],
        "coder": "command",
        "model": "large",
        "budget": {"usd": 2.5, "tokens": 1000},
        "max_attempts": 7,
        "timeout_s": 60.0,
        "assignee": "agent-1",
        "repo": "shop",
    }
    assert {field: task[field] for field in expected} == expected
    moment = datetime.fromisoformat(str(task["not_before"]))
    assert moment == datetime(2199, 1, 2, 3, 4, tzinfo=UTC)


def test_a_span_from_now_is_a_moment(fleet: Cli) -> None:
    before = datetime.now(UTC)
    task = shown(fleet, added(fleet, "Later", "--not-before", "+2h"))
    moment = datetime.fromisoformat(str(task["not_before"]))
    assert timedelta(hours=2) <= moment - before < timedelta(hours=3)


def test_a_moment_without_a_zone_is_meant_by_the_clock_on_the_wall(fleet: Cli) -> None:
    late = ("--not-before", "2199-01-02 09:00")
    task = program("add", "-q", "Later", *late, env={"TZ": "JST-9"}).out.strip()
    moment = datetime.fromisoformat(str(shown(fleet, task)["not_before"]))
    assert moment == datetime(2199, 1, 2, tzinfo=UTC)


def test_all_spans_in_one_file_begin_at_the_same_moment(fleet: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text("".join(f"- {{title: T{n}, not_before: +2h}}\n" for n in range(3)))
    tasks = json.loads(fleet("add", "--file", str(file), "--json").out)
    assert len({task["not_before"] for task in tasks}) == 1


def test_a_day_in_a_file_begins_at_its_midnight(fleet: Cli, tmp_path: Path) -> None:
    file = tmp_path / "day.yaml"
    file.write_text("- {title: Later, not_before: 2199-01-02}\n")
    task = fleet("add", "--file", str(file)).out.split()[0]
    moment = datetime.fromisoformat(str(shown(fleet, task)["not_before"]))
    assert moment == datetime(2199, 1, 2).astimezone()


def test_a_moment_that_is_none_is_refused(fleet: Cli) -> None:
    result = fleet("add", "Later", "--not-before", "soon")
    assert (result.code, result.out) == (2, "")
    assert "'soon' is not a time" in result.err


def test_a_description_comes_from_standard_input(fleet: Cli) -> None:
    task = program("add", "-q", "Long", "-d", "-", stdin="many\nlines\n").out.strip()
    assert shown(fleet, task)["prompt"] == "many\nlines\n"


def test_a_file_without_an_end_is_refused(fleet: Cli) -> None:
    result = fleet("add", "--file", "/dev/zero")
    assert result.code == 2
    assert "error: /dev/zero is larger than 20,000,000 bytes" in result.err


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text", [LAUGHS, "tasks: &a [*a]\n", "- &a {title: x, metadata: {y: *a}}\n"]
)
def test_aliases_that_make_much_of_little_are_refused(
    fleet: Cli, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text(text)
    result = fleet("add", "--file", str(file))
    assert result.code == 2
    assert "with its aliases it has more than 1,000,000 values" in result.err


def test_an_alias_stands_for_what_it_names(fleet: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text("- {title: One, labels: &l [fast]}\n- {title: Two, labels: *l}\n")
    assert fleet("add", "--file", str(file)).code == 0


def test_a_title_that_nobody_can_see_is_refused(fleet: Cli) -> None:
    assert fleet("add", "\u3164\u3164").code == 2


def test_json_prints_the_noun(fleet: Cli) -> None:
    task = json.loads(fleet("add", "Extract", "--json").out)
    assert (task["title"], task["state"]) == ("Extract", "pending")


def test_a_repository_can_be_named_by_its_path_or_by_its_name(fleet: Cli, tmp_path: Path) -> None:
    make_repo(tmp_path / "other")
    assert shown(fleet, added(fleet, "A", "--repo", str(tmp_path / "other")))["repo"] == "other"
    assert shown(fleet, added(fleet, "B", "--repo", "other"))["repo"] == "other"


def test_outside_of_any_repository_the_only_known_one_is_meant(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(fleet, added(fleet, "A"))["repo"] == "shop"


def test_a_similar_open_task_is_pointed_out(fleet: Cli) -> None:
    task = added(fleet, "Extract the mailer")
    result = fleet("add", "Extract mailer")
    assert result.code == 0
    assert f"note: similar to {task}" in result.err


def test_a_scope_that_matches_nothing_is_a_warning_and_strictly_an_error(fleet: Cli) -> None:
    warned = fleet("add", "Mail", "--scope", "src/mal/**")
    assert warned.code == 0
    assert "warning: the scope 'src/mal/**' matches no file in shop yet" in warned.err
    refused = fleet("add", "Other", "--scope", "src/mal/**", "--strict")
    assert (refused.code, refused.out) == (2, "")
    assert "matches no file" not in fleet("add", "Fine", "--scope", "src/mail/**").err


def test_a_title_or_a_file_is_needed_and_not_both(fleet: Cli) -> None:
    assert fleet("add").code == 2
    assert fleet("add", "A", "--file", "x.yaml").code == 2


def test_an_option_for_one_task_is_refused_beside_a_file_of_many(
    fleet: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text("- title: One\n- title: Two\n")
    refused = fleet("add", "--file", str(file), "--not-before", "+2h", "--check", "true")
    assert (refused.code, refused.out) == (2, "")
    assert "--not-before, --check: set this in the file" in refused.err
    assert fleet("add", "--file", str(file), "--quiet").code == 0


YAML = """\
- name: extract
  title: Extract the mailer
  scope: [src/mail/**]
- title: Cover it with tests
  needs: [extract]
  not_before: 2199-01-02 03:04:05
"""


def test_a_file_of_tasks_is_added_with_needs_by_name(fleet: Cli, repo: SampleRepo) -> None:
    file = repo.write("tasks.yaml", YAML)
    tasks = json.loads(fleet("add", "--file", str(file), "--json").out)
    assert [task["title"] for task in tasks] == ["Extract the mailer", "Cover it with tests"]
    assert tasks[1]["needs"] == [tasks[0]["id"]]


def test_a_file_may_need_tasks_that_exist_already(fleet: Cli, repo: SampleRepo) -> None:
    first = added(fleet, "First")
    file = repo.write("tasks.json", json.dumps({"tasks": [{"title": "Next", "needs": [first]}]}))
    tasks = json.loads(fleet("add", "--file", str(file), "--json").out)
    assert tasks[0]["needs"] == [first]


def test_tasks_come_from_standard_input_as_yaml_or_json(fleet: Cli) -> None:
    assert program("add", "--file", "-", stdin=YAML).code == 0
    assert program("add", "--file", "-", stdin='[{"title": "One"}]').code == 0
    assert len(json.loads(fleet("list", "--json").out)) == 3


BAD_FILES = {
    "a.yaml": ("- title: [\n", "line 2"),
    "b.json": ("[{]", "line 1"),
    "c.yaml": ("hello", "contains no tasks"),
    "d.yaml": ("- just words", "entry 1 is not a task"),
    "e.yaml": ("- title: A\n- titel: B", "entry 2: unknown field `titel`"),
    "f.yaml": ("- title: A\n  description: B", "did you mean `prompt`?"),
    "g.yaml": ("- title: A\n- title: B\n  priority: 9", "entry 2 (B): priority"),
    "h.yaml": ("- title: A\n- {title: B, needs: [C]}", "entry 2 (B): needs C, which is not a task"),
    "i.yaml": ("- {name: a, title: A, needs: [b]}\n- {name: b, title: B, needs: [a]}", "b -> a"),
    "j.yaml": ("- {name: a, title: A}\n- {name: a, title: B}", "two tasks are named a"),
    "i2.yaml": (
        "- {title: A, checks: pytest}",
        'entry 1 (A): checks: should be a list, not "pytest"',
    ),
    "k.yaml": ("- {title: A, not_before: soon}", "entry 1 (A): 'soon' is not a time"),
    "k2.yaml": ("- {title: A, not_before: 0001-01-01}", "entry 1 (A): '0001-01-01' is not a time"),
    "l.yaml": ("- {title: A, scope: ['../x']}", "not a file scope"),
    "m.yaml": ("", "contains no tasks"),
    "n.yaml": ("- title: !!python/object/apply:os.system [ls]", "not YAML"),
    "p.yaml": ("- {title: A, coder: nope}\n- {title: B}", "entry 1 (A): no coder 'nope'"),
    "q.yaml": ("- {title: A, checks: ['a | b']}", "'a | b' runs without a shell"),
    "o.yaml": ("- title: \x1b[31m", "not YAML"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_names_the_entry_and_adds_nothing(
    fleet: Cli, repo: SampleRepo, name: str
) -> None:
    content, complaint = BAD_FILES[name]
    file = repo.write(name, content)
    result = fleet("add", "--file", str(file))
    assert result.code in (2, 3)
    assert complaint in result.err
    assert "hint:" in result.err
    assert json.loads(fleet("list", "--json").out) == []


def test_an_unreadable_file_is_told(fleet: Cli, tmp_path: Path) -> None:
    (tmp_path / "raw.yaml").write_bytes(b"- title: \xff\xfe")
    for name in ("nowhere.yaml", str(tmp_path), str(tmp_path / "raw.yaml")):
        result = fleet("add", "--file", name)
        assert result.code == 2
        assert result.err.startswith("error: ")


def test_a_fallback_must_be_an_installed_coder_and_not_the_coder_itself(fleet: Cli) -> None:
    assert fleet("add", "Paint", "--fallback", "nobody").code == 3
    refused = fleet("add", "Paint", "--coder", "claude", "--fallback", "claude")
    assert (refused.code, "cannot be its own fallback" in refused.err) == (2, True)
    added = fleet("add", "Paint", "--coder", "claude", "--fallback", "codex", "-q")
    assert "fallback:   codex" in fleet("show", added.out.strip()).out
    assert fleet("edit", added.out.strip(), "--fallback", "").code == 0
    assert "fallback" not in fleet("show", added.out.strip()).out.partition("last events")[0]


def test_a_budget_that_is_just_a_number_is_refused_with_its_form(
    fleet: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text("- title: Mail\n  budget: 1\n")
    refused = fleet("add", "--file", str(file))
    assert refused.code != 0
    assert "entry 1 (Mail): budget: " in refused.err
    assert "{usd: 1}" in refused.err


def test_a_file_of_many_tasks_starts_git_no_more_often_than_one_of_few(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    counting = tmp_path / "bin" / "git"
    counting.parent.mkdir()
    counting.write_text(f'#!/bin/sh\necho x >> "{calls}"\nexec "{shutil.which("git")}" "$@"\n')
    counting.chmod(0o755)
    monkeypatch.setenv("PATH", f"{counting.parent}:{os.environ['PATH']}")
    need = added(fleet, "Begin")
    often = []
    for many in (2, 20):
        tasks = [{"title": f"Part {number}", "needs": [need]} for number in range(many)]
        (tmp_path / "tasks.json").write_text(json.dumps(tasks))
        calls.write_text("")
        assert fleet("add", "--file", str(tmp_path / "tasks.json")).code == 0
        often.append(len(calls.read_text().split()))
    assert often[0] == often[1] > 0


def test_outside_a_repository_the_only_one_is_taken_and_named(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    added = fleet("add", "Paint")
    assert added.code == 0
    assert "you are not in a repository; using shop" in added.err


def test_outside_a_repository_one_of_several_must_be_named(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repo(tmp_path / "mail", {"a.txt": "a"})
    monkeypatch.chdir(other.path)
    fleet("init")
    monkeypatch.chdir(tmp_path)
    refused = fleet("add", "Paint")
    assert refused.code == 2
    assert "name one with --repo: " in refused.err
    assert "mail" in refused.err
