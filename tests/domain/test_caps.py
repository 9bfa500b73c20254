"""What caps leave to the seats of one runner."""

import pytest

from codefleet.domain.caps import AtWork, Caps, Room
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


def test_whoever_starts_takes_a_place() -> None:
    room = Room(Caps(coders=(("claude", 2),)), AT_WORK, HERE)
    assert room.has_place(a_task("a"))
    room.take(a_task("a"))
    assert not room.has_place(a_task("b"))
    assert room.has_place(a_task("c", coder="codex"))
