"""What is recorded of an agent, signal by signal."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.errors import Workspace
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Asks,
    Broke,
    Finished,
    Limited,
    Said,
    Signal,
    Started,
    Tool,
    Touched,
    Used,
)
from codefleet.runner.agents.hearing import Heard, sound, told
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


NAIVE = AT.replace(tzinfo=None)
NONE: Any = None
TEXT: Any = "12"
UNSOUND: list[Any] = [
    "words",
    None,
    Said(NONE),
    Said("half \ud800"),
    Tool("shell", NONE),
    Started(session=NONE, model=5),  # type: ignore[arg-type]  # a plug-in may tell anything
    Used(NONE),
    Used(Usage(cost_usd=float("nan"))),
    Used(Usage(input_tokens=TEXT)),
    Limited("wait", NAIVE),
    Limited("wait", TEXT),
    Asks("Which?", (5,)),  # type: ignore[arg-type]
    Asks("Which?", TEXT),
]


@pytest.mark.parametrize("signal", UNSOUND, ids=repr)
def test_what_could_not_be_read_again_is_no_signal(signal: Any) -> None:
    with pytest.raises(Workspace, match="the coder parrot produced an invalid signal"):
        sound(signal, "parrot")


def test_a_sound_signal_is_itself_and_a_list_is_as_good_as_a_tuple() -> None:
    options: Any = ["a", "b"]
    for signal in (Said("x", more=True), Used(Usage(cost_usd=1.5), model="m"), Limited("no", AT)):
        assert sound(signal, "parrot") == signal
    assert sound(Asks("Which?", options), "parrot") == Asks("Which?", ("a", "b"))
