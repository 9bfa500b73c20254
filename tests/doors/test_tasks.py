"""Reading and moving tasks: list, ready, show, edit, cancel, retry, pause, resume."""

import json

import pytest

from tests.doors.conftest import Cli
from tests.doors.test_add import added, shown


def titles(fleet: Cli, *args: str) -> list[str]:
    return [task["title"] for task in json.loads(fleet("list", "--json", *args).out)]


def test_the_list_is_in_the_order_of_urgency(fleet: Cli) -> None:
    for title, priority in (("Low", "1"), ("High", "5"), ("Mid", "3")):
        added(fleet, title, "--priority", priority)
    assert titles(fleet) == ["High", "Mid", "Low"]


def test_the_list_says_what_each_task_waits_for(fleet: Cli) -> None:
    first = added(fleet, "First")
    second = added(fleet, "Second", "--needs", first)
    later = added(fleet, "Third", "--not-before", "+1h")
    held = added(fleet, "Fourth")
    fleet("pause", held)
    lines = {line.split()[0]: line for line in fleet("list").out.splitlines()}
    assert "ready" in lines[first]
    assert "blocked" in lines[second]
    assert f"waits for {first}" in lines[second]
    assert "waits" in lines[later]
    assert "not before" in lines[later]
    assert "paused" in lines[held]


def test_the_list_can_be_narrowed(fleet: Cli) -> None:
    first = added(fleet, "First", "--label", "mail")
    added(fleet, "Second", "--needs", first, "-d", "about parcels")
    added(fleet, "Third")
    fleet("cancel", added(fleet, "Fourth"))
    assert titles(fleet) == ["First", "Second", "Third"]
    assert titles(fleet, "--all") == ["First", "Second", "Third", "Fourth"]
    assert titles(fleet, "--label", "mail") == ["First"]
    assert titles(fleet, "parcels") == ["Second"]
    assert titles(fleet, "--state", "blocked") == ["Second"]
    assert titles(fleet, "--state", "ready") == ["First", "Third"]
    assert titles(fleet, "--state", "canceled") == ["Fourth"]
    assert titles(fleet, "--state", "cancelled", "--state", "blocked") == ["Second", "Fourth"]
    assert titles(fleet, "--state", "open") == ["First", "Second", "Third"]
    assert fleet("list", "--repo", "nowhere").code == 3


def test_a_long_list_is_cut_and_says_so(fleet: Cli) -> None:
    for number in range(3):
        added(fleet, f"Task {number}")
    result = fleet("list", "-n", "2")
    assert len(result.out.splitlines()) == 3
    assert "and more" in result.err


def test_an_empty_list_prints_words_on_stderr_only(fleet: Cli) -> None:
    result = fleet("list")
    assert (result.code, result.out) == (0, "")
    assert "fleet add" in result.err
    assert fleet("list", "--json").out == "[]\n"


def test_ready_lists_only_what_could_start_now(fleet: Cli) -> None:
    first = added(fleet, "First")
    added(fleet, "Second", "--needs", first)
    added(fleet, "Third", "--not-before", "+1h")
    assert [task["title"] for task in json.loads(fleet("ready", "--json").out)] == ["First"]
    fleet("pause")
    assert json.loads(fleet("ready", "--json").out) == []


def test_ready_looks_past_what_cannot_start(fleet: Cli) -> None:
    for number in range(6):
        added(fleet, f"Later {number}", "--priority", "5", "--not-before", "+2h")
        added(fleet, f"Nobody's {number}", "--priority", "5", "--assign", "nobody")
    able = [added(fleet, f"Now {number}") for number in range(3)]
    listed = [line.split()[0] for line in fleet("ready", "-n", "2").out.splitlines()[1:]]
    assert listed == able[:2]
    assert len(json.loads(fleet("ready", "-n", "5", "--json").out)) == 3


def test_nothing_ready_is_told_with_the_way_to_learn_why(fleet: Cli) -> None:
    added(fleet, "Later", "--not-before", "+2h")
    result = fleet("ready")
    assert (result.code, result.out) == (0, "")
    assert result.err == "nothing is ready; `fleet list` shows what each task waits for\n"


def test_show_tells_what_a_task_needs_and_holds_up(fleet: Cli) -> None:
    first = added(fleet, "First")
    second = added(fleet, "Second", "--needs", first, "-d", "Do it well", "--scope", "src/mail/**")
    third = added(fleet, "Third", "--needs", second)
    page = fleet("show", second).out
    assert f"blocked: waits for {first}" in page
    assert "Do it well" in page
    assert "src/mail/**" in page
    needs, holds_up = page.index("needs:"), page.index("holds up:")
    assert needs < page.index("First") < holds_up < page.index("Third")
    parts = json.loads(fleet("show", second, "--json").out)
    assert [task["id"] for task in parts["needs"]] == [first]
    assert [task["id"] for task in parts["holds_up"]] == [third]
    assert parts["hold"]["why"] == "needs"


def test_a_task_is_found_by_the_beginning_of_its_id(fleet: Cli) -> None:
    task = added(fleet, "First")
    assert shown(fleet, task[:4])["id"] == task


def test_editing_changes_what_was_named_and_nothing_else(fleet: Cli) -> None:
    task = added(fleet, "First", "--label", "a", "--model", "m", "-d", "old")
    before = shown(fleet, task)
    edit = ("--title", "Better", "--priority", "5", "--label", "b", "--model", "", "-d", "new")
    assert fleet("edit", task, *edit).code == 0
    after = shown(fleet, task)
    assert after["title"] == "Better"
    assert (after["priority"], after["labels"], after["model"]) == (5, ["b"], None)
    assert after["prompt"] == "new"
    same = set(before) - {"title", "priority", "labels", "model", "prompt", "updated_at", "version"}
    assert {field: before[field] for field in same} == {field: after[field] for field in same}


def test_an_empty_text_takes_a_value_away(fleet: Cli) -> None:
    values = {
        "--timeout": "60",
        "--attempts": "7",
        "--complexity": "small",
        "--budget": "2",
        "--assign": "agent-1",
        "--coder": "command",
        "--not-before": "+2h",
        "--check": "make",
    }
    task = added(fleet, "First", *(word for pair in values.items() for word in pair))
    assert fleet("edit", task, *(word for option in values for word in (option, ""))).code == 0
    fields = ("timeout_s", "max_attempts", "complexity", "budget", "assignee", "coder")
    after = shown(fleet, task)
    assert [after[field] for field in fields] == [None] * len(fields)
    assert (after["not_before"], after["checks"]) == (None, [])


def test_a_part_of_the_budget_is_edited_and_the_other_stays(fleet: Cli) -> None:
    task = added(fleet, "First", "--budget", "2")
    assert fleet("edit", task, "--budget-tokens", "1000").code == 0
    assert shown(fleet, task)["budget"] == {"usd": 2.0, "tokens": 1000}
    assert fleet("edit", task, "--budget", "5", "--complexity", "xl", "--attempts", "9").code == 0
    after = shown(fleet, task)
    assert after["budget"] == {"usd": 5.0, "tokens": 1000}
    assert (after["complexity"], after["max_attempts"]) == ("xl", 9)


@pytest.mark.parametrize(
    "words",
    [("--budget", "0"), ("--timeout", "soon"), ("--attempts", "0"), ("--complexity", "huge")],
)
def test_a_bad_edit_is_refused_by_the_name_of_its_option(
    fleet: Cli, words: tuple[str, str]
) -> None:
    result = fleet("edit", added(fleet, "First"), *words)
    assert result.code == 2
    assert words[0] in result.err


def test_an_edit_to_what_could_never_run_is_refused(fleet: Cli) -> None:
    task = added(fleet, "First")
    assert "installed coders" in fleet("edit", task, "--coder", "nope").err
    assert "sh -c" in fleet("edit", task, "--check", "a && b").err
    assert "an assignee needs a name" in fleet("edit", task, "--assign", " ").err
    assert shown(fleet, task)["version"] == 0


def test_a_task_for_an_agent_that_is_not_there_waits_and_is_not_ready(fleet: Cli) -> None:
    added(fleet, "First", "--assign", "nobody")
    assert "waits for nobody" in fleet("list").out
    assert json.loads(fleet("ready", "--json").out) == []


def test_an_edit_of_nothing_or_into_a_cycle_is_refused(fleet: Cli) -> None:
    first = added(fleet, "First")
    second = added(fleet, "Second", "--needs", first)
    assert fleet("edit", first).code == 2
    result = fleet("edit", first, "--needs", second)
    assert result.code == 2
    assert "wait for one another" in result.err


def test_cancel_and_retry_move_a_task_there_and_back(fleet: Cli) -> None:
    task = added(fleet, "First")
    assert fleet("cancel", task).code == 0
    assert shown(fleet, task)["state"] == "cancelled"
    again = fleet("cancel", task)
    assert again.code == 4
    assert "hint:  a cancelled task allows: retry" in again.err
    assert json.loads(fleet("retry", task, "--json").out)["state"] == "pending"


def test_pausing_without_a_task_pauses_the_whole_fleet(fleet: Cli) -> None:
    task = added(fleet, "First")
    assert "the fleet is paused" in fleet("pause").err
    assert "the fleet is paused" in fleet("status").out
    assert "the whole fleet is paused" in fleet("show", task).out
    assert json.loads(fleet("resume", "--json").out) == {"paused": False}
    assert "paused" not in fleet("status").out


def test_status_tells_counts_and_why_things_wait(fleet: Cli) -> None:
    first = added(fleet, "First")
    added(fleet, "Second", "--needs", first)
    page = fleet("status").out
    assert "1 pending, 1 blocked" in page
    assert "no runner" in page
    assert f"waits for {first}" in page
    now = json.loads(fleet("status", "--json").out)
    assert now["counts"] == {"pending": 1, "blocked": 1}
    assert [waiting["why"] for waiting in now["waiting"]] == ["seat", "needs"]


def test_status_of_an_empty_fleet_says_how_to_begin(fleet: Cli) -> None:
    assert 'fleet add "Title"' in fleet("status").out


@pytest.mark.parametrize("command", ["show", "cancel", "retry", "pause", "edit", "diff", "land"])
def test_an_unknown_task_is_told_with_a_hint(fleet: Cli, command: str) -> None:
    more = ("--priority", "1") if command == "edit" else ()
    result = fleet(command, "nope", *more)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("error: no task nope\nhint:  ")
