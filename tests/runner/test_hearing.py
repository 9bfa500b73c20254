"""What is heard of an agent, signal by signal."""

from datetime import UTC, datetime
from pathlib import Path

from codefleet.domain.model import Usage
from codefleet.ports import Broke, Finished, Limited, Said, Signal, Started, Tool, Touched, Used
from codefleet.runner.agents.hearing import Heard, told
from tests.coders.assignments import assignment

AT = datetime(2026, 11, 15, 19, 28, tzinfo=UTC)


def heard(*signals: Signal) -> Heard:
    it = Heard()
    for signal in signals:
        it.take(signal)
    return it


def test_pieces_of_an_answer_are_joined() -> None:
    assert heard(Said("All ", more=True), Said("done.", more=True)).said == "All done."
    assert heard(Said("I see."), Said("Done.")).said == "Done."


def test_an_answer_after_a_tool_begins_anew() -> None:
    for between in (Tool("shell", done=True), Touched("a.py"), Used(Usage())):
        assert heard(Said("Now ", more=True), between, Said("done", more=True)).said == "done"


def test_an_end_without_a_reason_does_not_hide_one_that_had_it() -> None:
    assert heard(Broke("no credit", "quota"), Broke("failed")).end == Broke("no credit", "quota")
    assert heard(Limited("later", AT), Broke("failed")).end == Limited("later", AT)
    assert heard(Broke("odd"), Broke("too long", "context_full")).end == Broke(
        "too long", "context_full"
    )


def test_the_last_turn_decides() -> None:
    assert heard(Broke("no", "auth"), Finished("yes")).end == Finished("yes")
    assert heard(Finished("yes"), Broke("no")).end == Broke("no")


def test_a_session_is_told_once() -> None:
    run = assignment(Path("/home/ada")).run
    assert [event.text for event in told(Started("s1"), run, AT)] == ["s1"]
    assert list(told(Started("s1"), run.evolve(session="s1"), AT)) == []
    assert [event.text for event in told(Started("s2"), run.evolve(session="s1"), AT)] == ["s2"]


def test_a_tool_is_in_flight_until_the_last_of_several_calls_has_answered() -> None:
    both = (Tool("test"), Tool("lint"))
    assert not heard().in_tool
    assert heard(*both, Tool("", done=True)).in_tool
    assert not heard(*both, Tool("", done=True), Tool("", done=True)).in_tool


def test_an_agent_that_speaks_again_waits_for_no_tool() -> None:
    assert not heard(Tool("shell", "denied: no"), Said("Then not.")).in_tool
