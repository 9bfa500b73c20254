"""What is recorded of an agent, signal by signal."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Asks,
    Broke,
    Changed,
    Finished,
    Limited,
    Said,
    Signal,
    Started,
    Thought,
    Tool,
    Used,
)
from codefleet.runner.output.transcript import OutputState, events_of
from codefleet.runner.output.validation import validated
from tests.coders.assignments import assignment

AT = datetime(2026, 11, 15, 19, 28, tzinfo=UTC)


def heard(*signals: Signal) -> OutputState:
    it = OutputState()
    for signal in signals:
        it.take(signal)
    return it


def test_pieces_of_an_answer_are_joined() -> None:
    assert heard(Said("All ", more=True), Said("done.", more=True)).said == "All done."
    assert heard(Said("I see."), Said("Done.")).said == "Done."


def test_an_answer_after_a_tool_begins_anew() -> None:
    for between in (Tool("shell", done=True), Changed("a.py"), Used(Usage())):
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


def test_a_thought_is_neither_an_end_nor_an_answer() -> None:
    it = heard(Said("Done."), Finished("Done."), Thought("Was that all?"))
    assert (it.said, it.end) == ("Done.", Finished("Done."))


def test_what_came_out_of_a_call_is_told_if_it_is_known_which() -> None:
    run = assignment(Path("/home")).run
    signals = (
        Thought("Where is it?"),
        Tool("shell", "ls", call="c1"),
        Tool("", done=True, call="c1", result="README.md"),
        Tool("", done=True, call="c1"),
        Tool("", done=True, result="README.md"),
    )
    told = [each for signal in signals for each in events_of(signal, run, AT)]
    assert [(each.kind, each.text, each.data) for each in told] == [
        ("run.thought", "Where is it?", {}),
        ("run.tool", "shell ls", {"call": "c1"}),
        ("run.result", "README.md", {"call": "c1"}),
    ]


def test_a_session_is_told_once() -> None:
    run = assignment(Path("/home/ada")).run
    assert [event.text for event in events_of(Started("s1"), run, AT)] == ["s1"]
    assert list(events_of(Started("s1"), run.evolve(session="s1"), AT)) == []
    assert [event.text for event in events_of(Started("s2"), run.evolve(session="s1"), AT)] == [
        "s2"
    ]


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
    Used(Usage(input_tokens=10**30)),
    Limited("wait", NAIVE),
    Limited("wait", TEXT),
    Asks("Which?", (5,)),  # type: ignore[arg-type]
    Asks("Which?", TEXT),
    Asks("Which?", ("half \ud800",)),
]


@pytest.mark.parametrize("signal", UNSOUND, ids=repr)
def test_what_could_not_be_read_again_is_no_signal(signal: Any) -> None:
    with pytest.raises(WorkspaceTrouble, match="the coder parrot produced an invalid signal"):
        validated(signal, "parrot")


class Key(str):
    """A text that is not redacted as texts are."""


LONG: Any = Said("x" * 150 + " ghp_secret", more=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("signal", [LONG, Said(Key("ghp_secret"))], ids=["long", "odd"])
def test_a_refused_signal_shows_none_of_its_values(signal: Any) -> None:
    with pytest.raises(WorkspaceTrouble) as refused:
        validated(signal, "parrot")
    assert "ghp_" not in refused.value.problem


def test_a_sound_signal_is_itself_and_a_list_is_as_good_as_a_tuple() -> None:
    options: Any = ["a", "b"]
    for signal in (Said("x", more=True), Used(Usage(cost_usd=1.5), model="m"), Limited("no", AT)):
        assert validated(signal, "parrot") == signal
    assert validated(Asks("Which?", options), "parrot") == Asks("Which?", ("a", "b"))
