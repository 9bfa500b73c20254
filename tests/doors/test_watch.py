"""The live screen on a real terminal: keys, a narrow window, a window that nobody reads."""

from tests.doors.conftest import Cli, on_a_terminal, program
from tests.doors.terminal import terminal
from tests.doors.test_add import added, shown
from tests.gitrepo import SampleRepo
from tests.script import script


def test_a_question_is_answered_in_the_view_of_a_run(fleet: Cli, repo: SampleRepo) -> None:
    steps = script("ask Which port? | 8080 | 9090", "write port.txt {{answer}}")
    task = added(fleet, "Choose a port", "-d", steps)
    with terminal("run") as screen:
        screen.wait_for("NEEDS YOU")
        screen.wait_for("type your own", screen.press("a"))
        screen.wait_for("1 of 1 done", screen.press("2"))
        screen.press("q")
        assert screen.ended() == 130
    assert shown(fleet, task)["state"] == "completed"
    assert repo.read("main", "port.txt").strip() == "9090"


def test_q_stops_a_run_gently_and_once_more_at_once(fleet: Cli) -> None:
    stubborn = script("shell trap '' TERM INT", "say halfway", "wait until go.txt 60")
    task = added(fleet, "Hold", "-d", stubborn)
    with terminal("run") as screen:
        screen.wait_for("halfway")
        screen.wait_for("stopping gracefully", screen.press("q"))
        screen.press("q")
        assert screen.ended() == 130
    assert shown(fleet, task)["state"] == "pending"


def test_leaving_the_view_of_a_fleet_stops_nothing(fleet: Cli) -> None:
    task = added(fleet, "Wait for a runner")
    with terminal("watch") as screen:
        screen.wait_for(task)
        screen.wait_for("no runner")
        screen.press("q")
        assert screen.ended() == 0
    assert shown(fleet, task)["state"] == "pending"


def test_the_view_fits_a_window_that_gets_narrow(fleet: Cli) -> None:
    added(
        fleet, "A title that is much longer than sixty columns, so that it has to be cut somewhere"
    )
    with terminal("watch", columns=120) as screen:
        screen.wait_for("cut somewhere")
        narrow = screen.resize(60, 20)
        screen.wait_for("…", narrow)
        screen.press("q")
        screen.ended()


def test_a_terminal_that_nobody_reads_does_not_hold_up_the_work(fleet: Cli) -> None:
    talks = [f"say {'so much to say ' * 20}{number}" for number in range(60)]
    task = added(fleet, "Talk", "-d", script(*talks, "write a.txt a"))
    with terminal("run", read=False) as screen:
        follow = program("log", "--json")
        while "task.completed" not in follow.out:
            follow = program("log", "-n", "1000", "--json")
        assert shown(fleet, task)["state"] == "completed"
        screen.read_on()
        screen.wait_for("1 of 1 done")  # it is redrawn as soon as somebody reads it
        screen.press("q")
        assert screen.ended() == 130


def test_without_a_terminal_that_can_draw_there_are_lines(fleet: Cli) -> None:
    task = added(fleet, "Write", "-d", script("write a.txt hello"))
    with terminal("run", "--until-idle", TERM="dumb") as screen:
        assert screen.ended() == 0
    assert "\x1b[?1049h" not in screen.raw
    assert "task.completed" in screen.drawn
    assert task in screen.drawn
    assert "\x1b[?1049h" not in on_a_terminal("run", "--until-idle")  # no keys without a terminal


def test_without_colours_the_view_has_none(fleet: Cli) -> None:
    added(fleet, "Write")
    with terminal("watch", NO_COLOR="1") as screen:
        screen.wait_for("Write")
        screen.press("q")
        screen.ended()
    coloured = [code for code in screen.raw.split("\x1b[") if code.startswith(("38;", "48;", "3"))]
    assert not any(";2;" in code.partition("m")[0] and _has_hue(code) for code in coloured)


def _has_hue(code: str) -> bool:
    """Is this colour anything but grey?"""
    numbers = code.partition("m")[0].split(";")
    at = [place for place, it in enumerate(numbers) if it == "2"]
    return any(len({*numbers[place + 1 : place + 4]}) > 1 for place in at)


def test_reviewed_work_is_looked_at_and_landed_with_two_keys(fleet: Cli, repo: SampleRepo) -> None:
    fleet("config", "set", "landing", "review")
    task = added(fleet, "Write", "-d", script("write a.txt hello"))
    fleet("run", "--until-idle")
    with terminal("watch") as screen:
        screen.wait_for("NEEDS YOU")
        screen.wait_for("+hello", screen.press("d"))
        screen.wait_for("NEEDS YOU", screen.press("q"))
        screen.wait_for("has landed", screen.press("l"))
        screen.press("q")
        assert screen.ended() == 0
    assert shown(fleet, task)["state"] == "completed"
    assert repo.read("main", "a.txt") == "hello\n"
