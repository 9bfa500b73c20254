"""What caps leave for the seats of one runner."""

import pytest

from codefleet.domain.caps import AtWork, Caps, Room, reached
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import RunnerId
from tests.domain.samples import a_task

HERE = [Seat(f"agent-{n}", RunnerId("r-1"), "here", "claude") for n in range(3)]
AT_WORK = [AtWork("shop", "here", "claude"), AtWork("shop", "there", "codex")]


@pytest.mark.parametrize(
    ("caps", "places"),
    [
        (Caps(), 3),
        (Caps(fleet=9), 3),
        (Caps(fleet=4), 2),
        (Caps(fleet=2), 0),
        (Caps(fleet=1), 0),
        (Caps(machine=2), 1),
        (Caps(machine=1, fleet=9), 0),
    ],
)
def test_so_many_seats_may_be_filled(caps: Caps, places: int) -> None:
    assert Room(caps, AT_WORK, HERE).seats == places


def test_what_is_full_is_named() -> None:
    caps = Caps(repos=(("shop", 2), ("other", 1)), coders=(("claude", 2), ("codex", 1)))
    room = Room(caps, AT_WORK, HERE)
    assert (room.full_repos, room.full_coders) == (["shop"], ["codex"])


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        (Caps(), ""),
        (Caps(fleet=3, machine=2, repos=(("shop", 3),), coders=(("claude", 2),)), ""),
        (Caps(fleet=2), "2 agents work in the fleet, as many as most_agents allows"),
        (
            Caps(machine=1),
            "1 agent works on each machine, as many as most_agents_per_machine allows",
        ),
        (Caps(repos=(("shop", 2),)), "2 agents work in shop, as many as its most_agents allows"),
        (
            Caps(coders=(("claude", 1),)),
            "1 agent works as claude, as many as its most_agents allows",
        ),
        (Caps(repos=(("other", 1),), coders=(("codex", 1),)), ""),
    ],
)
def test_the_cap_that_a_task_waits_for_is_told(caps: Caps, words: str) -> None:
    hosts = ("here", "there")
    assert reached(caps, AT_WORK, hosts, repo="shop", coder="claude") == words


def test_a_machine_with_a_place_left_may_start_a_task() -> None:
    hosts = ("here", "there", "elsewhere")
    assert reached(Caps(machine=1), AT_WORK, hosts, repo="shop", coder="claude") == ""


def test_whoever_starts_takes_a_place() -> None:
    room = Room(Caps(coders=(("claude", 2),)), AT_WORK, HERE)
    assert room.has_place(a_task("a"))
    room.take(a_task("a"))
    assert not room.has_place(a_task("b"))
    assert room.has_place(a_task("c", coder="codex"))
