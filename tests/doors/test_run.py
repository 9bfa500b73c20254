"""`fleet run`, and the commands that show its work: log, show, diff, inbox, answer, land, gc."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest

from codefleet.domain.errors import NEEDS_HUMAN
from codefleet.fleet.dispatch import Dispatch
from codefleet.wiring import open_fleet
from tests.doors.conftest import START, Cli, on_a_terminal
from tests.doors.terminal import terminal
from tests.doors.test_add import added, shown
from tests.gitrepo import SampleRepo
from tests.script import script


def work(fleet: Cli, code: int = 0) -> str:
    result = fleet("run", "--until-idle", "--agents", "2")
    assert result.code == code, result.err
    return result.out


def test_a_task_is_worked_landed_and_can_be_looked_at(fleet: Cli, repo: SampleRepo) -> None:
    steps = script("say Writing", "write src/mail/new.py 'y = 2'", "usage input=5 cost=0.25")
    task = added(fleet, "Write it", "-d", steps, "--check", "test -f src/mail/new.py")
    lines = work(fleet)
    assert "run.started" in lines
    assert "task.completed" in lines
    assert shown(fleet, task)["state"] == "completed"
    assert repo.read("main", "src/mail/new.py") == "y = 2\n"
    page = fleet("show", task).out
    assert "check passed" in page
    assert "src/mail/new.py" in page
    assert "$0.25" in page
    assert "+y = 2" in fleet("diff", task).out
    assert "1 file changed" in fleet("diff", task, "--stat").out
    changes = json.loads(fleet("diff", task, "--json").out)
    assert [change["path"] for change in changes] == ["src/mail/new.py"]
    assert "$0.25" in fleet("status").out


def test_a_diff_is_not_shown_by_a_pager_that_came_into_the_repository(
    fleet: Cli, repo: SampleRepo, tmp_path: Path
) -> None:
    task = added(fleet, "Write it", "-d", script("write new.py 'y = 2'"))
    work(fleet)
    repo.git("config", "core.pager", f"touch {tmp_path}/caught; cat")
    assert "y = 2" in on_a_terminal("diff", task, PAGER="cat", TERM="xterm")
    assert not (tmp_path / "caught").exists()


def test_the_log_goes_on_from_where_a_reader_stopped(fleet: Cli) -> None:
    added(fleet, "First")
    second = added(fleet, "Second")
    events = [json.loads(line) for line in fleet("log", "--json").out.splitlines()]
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
    last = fleet("log", "--json", "--since", str(events[-2]["seq"])).out
    assert json.loads(last)["task"] == second
    assert fleet("log", "--since", "0", "-n", "1").out.count("\n") == 1
    assert json.loads(fleet("log", second, "--json").out)["kind"] == "task.added"
    assert fleet("log", "--since", str(events[-1]["seq"])).out == ""


def test_a_failed_check_is_shown_with_its_output(fleet: Cli) -> None:
    fleet("config", "set", "attempts", "1")
    steps = script("write a.txt hello")
    task = added(fleet, "Fail", "-d", steps, "--check", "grep -c goodbye a.txt")
    ran = fleet("run", "--agents", "2", "--until-idle")
    assert ran.code == 1
    assert ran.err == "1 task failed; `fleet list` shows why\n"
    page = fleet("show", task).out
    assert "failed: checks failed" in page
    assert "check failed" in page
    assert "exit code 1" in page


def test_a_task_that_failed_and_was_retried_and_completed_counts_as_no_failure(
    fleet: Cli, tmp_path: Path
) -> None:
    fleet("config", "set", "attempts", "1")
    gate = tmp_path / "go"
    failing = script("crash 1", "on attempt 2", "write a.txt a")
    task = added(fleet, "Fail once", "-d", failing)
    added(fleet, "Keep it open", "-d", script(f"wait until {gate}", "write b.txt b"))
    command, words = [sys.executable, "-c", START], ["run", "--agents=2", "--until-idle"]
    with (
        subprocess.Popen([*command, *words], stdout=PIPE, stderr=PIPE, text=True) as runner,
        subprocess.Popen([*command, "log", "-f", task], stdout=PIPE, text=True) as log,
    ):
        assert log.stdout
        assert any("task.failed" in line for line in log.stdout)
        assert fleet("retry", task).code == 0
        assert any("task.completed" in line for line in log.stdout)
        gate.touch()
        _, err = runner.communicate(timeout=60)
        log.kill()
    assert (runner.returncode, "failed" in err) == (0, False)


def test_leave_to_use_a_tool_is_given_from_the_inbox(fleet: Cli, repo: SampleRepo) -> None:
    task = added(fleet, "Build", "-d", script("want shell touch built"))
    fleet("run", "--until-idle")
    shown = fleet("inbox").out
    assert "permission" in shown
    assert "May it use shell?\n  touch built" in shown
    assert f"fleet answer {task} allow, or always, or deny" in shown
    assert "asks: May it use shell?" in fleet("show", task).out
    refused = fleet("answer", task, "hm")
    assert refused.code == 2
    assert "with allow, always, deny" in refused.err
    assert fleet("answer", task, "allow").code == 0
    fleet("run", "--until-idle")
    assert (repo.path / "built").exists()


def test_a_message_says_when_it_will_be_read(fleet: Cli) -> None:
    task = added(fleet, "Work")
    sent = fleet("send", task, "mind the tests")
    assert (sent.code, sent.out) == (0, "")
    assert sent.err == f"it will be read in the next run of {task}\n"
    message = json.loads(fleet("send", task, "and the docs", "--json").out)
    assert (message["task"], message["run"], message["text"]) == (task, None, "and the docs")
    refused = fleet("send", "nobody", "hello")
    assert (refused.code, "no agent and no task nobody" in refused.err) == (3, True)
    assert "name a task, and" in refused.err  # without a runner no agent can be named


def test_a_question_is_answered_from_the_inbox(fleet: Cli, repo: SampleRepo) -> None:
    steps = script("ask Which port? | 8080 | 9090", "write port.txt {{answer}}")
    task = added(fleet, "Ask", "-d", steps)
    work(fleet, code=NEEDS_HUMAN)
    assert "Which port?" in fleet("inbox").out
    assert "8080 | 9090" in fleet("inbox").out
    assert "Which port?" in fleet("status").out
    assert "asks: Which port?" in fleet("show", task).out
    assert [item["task"] for item in json.loads(fleet("inbox", "--json").out)] == [task]
    assert fleet("answer", task, "8080").code == 0
    assert "nothing is waiting" in fleet("inbox").err
    work(fleet)
    assert repo.read("main", "port.txt").strip() == "8080"


def test_reviewed_work_lands_when_a_human_says_so(fleet: Cli, repo: SampleRepo) -> None:
    fleet("config", "set", "landing", "review")
    task = added(fleet, "Review", "-d", script("append notes.txt again"))
    work(fleet, code=NEEDS_HUMAN)
    assert json.loads(fleet("inbox", "--json").out)[0]["kind"] == "review"
    assert fleet("reject", task, "say it better").code == 0
    work(fleet, code=NEEDS_HUMAN)
    fleet("pause", task)
    assert f"but it is paused until `fleet resume {task}`" in fleet("land", task).err
    fleet("resume", task)
    assert "has landed" in fleet("land", task).err  # at once, because no runner is running
    assert shown(fleet, task)["state"] == "completed"
    assert "again" in repo.read("main", "notes.txt")


def test_nothing_to_show_yet_is_told(fleet: Cli) -> None:
    result = fleet("diff", added(fleet, "First"))
    assert result.code == 3
    assert "has changed nothing yet" in result.err


def test_gc_says_what_would_go_and_removes_it(fleet: Cli, home: Path) -> None:
    added(fleet, "Write", "-d", script("write a.txt hello"))
    work(fleet)
    would = fleet("gc", "--dry-run")
    assert "worktree" in would.out
    assert "would be removed" in would.err
    assert fleet("gc").out == would.out
    assert fleet("gc").out == ""


@contextmanager
def runner_at_work(until: str) -> Iterator[subprocess.Popen[str]]:
    """A runner in a separate process, from the moment its log contains `until`."""
    command = [sys.executable, "-c", START]
    with (
        subprocess.Popen([*command, "run"], stdout=PIPE, stderr=PIPE, text=True) as runner,
        subprocess.Popen([*command, "log", "-f"], stdout=PIPE, text=True) as log,
    ):
        try:
            assert log.stdout
            assert any(until in line for line in log.stdout)
            log.kill()
            yield runner
        finally:
            log.kill()
            runner.terminate()  # a failing test leaves nothing behind


def test_ctrl_c_stops_the_runner_gently_and_its_work_goes_on_later(fleet: Cli) -> None:
    steps = script("write new.txt hello", "say halfway", "wait until go.txt 60")
    task = added(fleet, "Hold", "-d", steps)
    with runner_at_work("halfway") as runner:
        assert "+hello" in fleet("diff", task).out
        assert "halfway" in fleet("status").out
        runner.send_signal(signal.SIGINT)
        out, err = runner.communicate(timeout=60)
    assert runner.returncode == 130
    assert "stopping gracefully" in err
    assert "Traceback" not in err
    assert "runner.stopped" in out
    assert shown(fleet, task)["state"] == "pending"


def test_a_runner_in_the_background_of_a_script_heeds_an_interrupt(fleet: Cli) -> None:
    added(fleet, "Hold", "-d", script("say halfway", "wait until go.txt 60"))
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for what it runs with &
    try:
        with runner_at_work("halfway") as runner:
            runner.send_signal(signal.SIGINT)
            assert runner.wait(timeout=60) == 130
    finally:
        signal.signal(signal.SIGINT, old)


def test_a_runner_whose_words_nobody_reads_still_heeds_a_signal(fleet: Cli) -> None:
    task = added(fleet, "Hold", "-d", script("say halfway", "wait until go.txt 60"))
    with runner_at_work("halfway") as runner:
        assert runner.stderr
        runner.stderr.close()
        runner.terminate()
        assert runner.wait(timeout=60) == 143
    assert shown(fleet, task)["state"] == "pending"


def test_reset_is_refused_while_a_runner_lives(fleet: Cli) -> None:
    task = added(fleet, "Hold", "-d", script("say halfway", "wait until go.txt 60"))
    with runner_at_work("halfway") as runner:
        result = fleet("reset", "--yes")
        runner.terminate()
        runner.communicate(timeout=60)
    assert runner.returncode == 143
    assert result.code == 4
    assert "a runner is active" in result.err
    assert shown(fleet, task)["state"] == "pending"


def test_ctrl_c_tells_its_words_inside_the_live_view(fleet: Cli) -> None:
    added(fleet, "Hold", "-d", script("say halfway", "wait until go.txt 60"))
    with terminal("run") as screen:
        screen.wait_for("halfway")
        screen.press("\x03")
        screen.wait_for("stopping gracefully")
        assert screen.ended() == 130
    assert "runner.stopped" in fleet("log").out


@contextmanager
def runner_on_a_terminal(until: str, *wrapped: str) -> Iterator[subprocess.Popen[bytes]]:
    """A runner on its own terminal, which is closed once its log contains `until`."""
    controller, terminal = os.openpty()
    command = [sys.executable, "-c", START]
    own = "import fcntl, os, signal, sys, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0); "
    own += (
        "signal.signal(signal.SIGHUP, signal.SIG_DFL); "  # whatever the tests themselves run under
    )
    own += "os.execvp(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-c", own, *wrapped, *command, "run"]
    with (
        subprocess.Popen(
            words, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
        ) as runner,
        subprocess.Popen([*command, "log", "-f"], stdout=PIPE, text=True) as log,
    ):
        os.close(terminal)
        assert log.stdout
        assert any(until in line for line in log.stdout)
        log.kill()
        os.close(controller)
        try:
            yield runner
        finally:
            runner.terminate()


def test_closing_the_terminal_stops_the_runner_gently(fleet: Cli, home: Path) -> None:
    task = added(fleet, "Hold", "-d", script("write a.txt a", "say halfway", "wait until go 60"))
    with runner_on_a_terminal("halfway") as runner:
        runner.wait(timeout=60)
    assert shown(fleet, task)["state"] == "pending"
    assert "runner.stopped" in fleet("log").out
    assert "+a" in fleet("diff", task).out
    assert not (home / "logs" / "crash.log").exists()


def test_a_runner_under_nohup_outlives_its_terminal(fleet: Cli, tmp_path: Path) -> None:
    go = tmp_path / "go"
    task = added(fleet, "Hold", "-d", script("say halfway", f"wait until {go} 60", "write a.txt a"))
    with runner_on_a_terminal("halfway", "nohup") as runner:
        go.touch()
        with subprocess.Popen([sys.executable, "-c", START, "log", "-f"], stdout=PIPE) as log:
            try:
                assert log.stdout
                assert any(b"task.completed" in line for line in log.stdout)
            finally:
                log.kill()
        assert runner.poll() is None
        runner.terminate()
        assert runner.wait(timeout=60) == 143
    assert shown(fleet, task)["state"] == "completed"


def test_on_a_terminal_the_run_is_a_live_view(fleet: Cli) -> None:
    first = added(fleet, "First \x1b[31m[bold]", "-d", script("write a.txt hello", "wait 0.5"))
    second = added(fleet, "Second", "--needs", first, "-d", script("write b.txt hello"))
    with terminal("run", "--until-idle", "--agents", "2") as screen:
        screen.wait_for("agent-1")
        screen.wait_for(f"waits for {first}")
        assert screen.ended() == 0
    assert "[bold]" in screen.drawn
    assert "tasks: 2 completed" in screen.drawn  # which stays when the screen is gone
    assert {shown(fleet, task)["state"] for task in (first, second)} == {"completed"}


def test_agents_are_shown_with_the_machine_that_they_are_on(
    fleet: Cli, repo: SampleRepo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fleet("agents").out == "no agents; `fleet run` starts some\n"
    monkeypatch.setenv("FLEET_HOST", "lab-3")
    look = f"shell {sys.executable} -m codefleet --home {home} agents"
    task = added(fleet, "Look", "-d", script(f"{look} --json > a.json", f"{look} > a.txt"))
    work(fleet)
    seats = json.loads(repo.read("main", "a.json"))
    (busy,) = [seat for seat in seats if seat["task"] == task]
    assert (busy["host"], busy["state"], busy["coder"]) == ("lab-3", "working", "scripted")
    assert busy["memory_free_mb"] > 0
    assert re.search(rf"working +lab-3 +{task} +scripted ", repo.read("main", "a.txt"))


def test_a_runner_without_seats_is_shown_as_standing_by(fleet: Cli, home: Path) -> None:
    async def join() -> None:
        async with open_fleet(home) as opened:
            for host, seats in {"lab-3": 0, "lab-4": 1, "lab-5": 0}.items():
                await Dispatch(opened).join(
                    host=host, pid=1, pid_started=1.0, seats=seats, coder=None
                )

    asyncio.run(join())
    for command in ("agents", "status"):
        page = fleet(command).out
        assert "standing by for tasks: lab-3, lab-5\n" in page
        assert "agent-1" in page
        assert "`fleet run`" not in page


def test_between_two_numbers_as_many_agents_work_as_the_queue_needs(fleet: Cli) -> None:
    added(fleet, "Write", "-d", script("write a.txt a"))
    result = fleet("run", "--until-idle", "--agents", "0..2")
    assert result.code == 0, result.err
    assert "task.completed" in result.out


def test_a_number_of_agents_that_cannot_be_is_refused(fleet: Cli) -> None:
    for wrong in ("0", "3..2", "-1..2", "257", "many", "1..", "..2"):
        result = fleet("run", f"--agents={wrong}")
        assert result.code == 2, wrong
        assert "or a range such as 0..8" in result.err


def test_a_runner_of_one_coder_says_what_it_skips(fleet: Cli) -> None:
    added(fleet, "Theirs", "--coder", "claude")
    added(fleet, "Ours", "-d", script("write a.txt a"))
    done = fleet("run", "--coder", "scripted", "--until-idle")
    assert "skipping 1 task for other agent programs: 1 for claude" in done.err


def test_work_that_a_dirty_checkout_holds_up_has_its_own_word_and_a_line_in_the_inbox(
    fleet: Cli, repo: SampleRepo
) -> None:
    task = added(fleet, "Write it", "-d", script("write README.md new"))
    (repo.path / "README.md").write_text("edited by a human\n")
    ran = fleet("run", "--until-idle")
    assert ran.code == NEEDS_HUMAN
    assert f"1 task left:\n{task}  Write it: " in ran.err
    assert "README.md" in ran.err
    assert "held" in fleet("list").out
    assert "1 held" in fleet("status").out
    assert task in fleet("list", "--state", "held").out
    assert f"landing {task}" in fleet("inbox").out
    repo.git("checkout", "--quiet", "README.md")
    work(fleet)
    assert repo.read("main", "README.md") == "new\n"


def test_an_idle_runner_tells_what_is_left_and_why(fleet: Cli, repo: SampleRepo) -> None:
    asks = added(fleet, "Ask", "-d", script("ask Which colour?"))
    behind = added(fleet, "Paint", "--needs", asks)
    review = added(fleet, "Draft", "-d", script("write a.txt a"))
    fleet("config", "set", "landing", "review")
    ran = fleet("run", "--until-idle")
    assert ran.code == NEEDS_HUMAN
    assert f"{asks}  Ask: Which colour?" in ran.err
    assert f'fleet answer {asks} "..."' in ran.err
    assert f"{review}  Draft: waits for your review" in ran.err
    assert behind not in ran.err, "it only waits for another that is left"


def test_a_task_that_waits_for_nobody_leaves_nothing_to_tell(fleet: Cli) -> None:
    added(fleet, "Write it", "-d", script("write a.txt a"))
    ran = fleet("run", "--until-idle")
    assert (ran.code, ran.err) == (0, "")


def test_work_that_moved_since_its_run_is_shown_before_it_lands(
    fleet: Cli, repo: SampleRepo
) -> None:
    fleet("config", "set", "landing", "review")
    task = added(fleet, "Draft", "-d", script("write a.txt a"))
    fleet("run", "--until-idle")
    branch = shown(fleet, task)["branch"]
    repo.git("checkout", "--quiet", str(branch))
    repo.write("b.txt", "b\n")
    mine = repo.commit("by a human")
    repo.git("checkout", "--quiet", "main")
    refused = fleet("land", task)
    assert refused.code == 4
    assert "by a human" in refused.err
    assert fleet("land", task, "--commit", mine[:10]).code == 0
    assert repo.read("main", "b.txt") == "b\n"
