"""The board as text: what is shown where, at any width, and that none of it can do harm."""

from pathlib import Path

import pytest

from codefleet.domain.board import Board
from codefleet.domain.words import Complexity
from codefleet.doors.cli.screen.parts import expected
from codefleet.doors.cli.screen.rows import Look, header, keys, rows
from codefleet.doors.cli.text import width
from codefleet.fleet.board import BoardReader
from tests.doors.screen.scene import AT_WORK, HOSTILE, busy, scene

LIVE = ("● live", "done")


@pytest.fixture
async def board(tmp_path: Path) -> Board:
    async with scene(tmp_path / "home") as made:
        await busy(made)
        return await BoardReader(made.fleet).read()


def drawn(board: Board, columns: int = 110, words: str = "") -> str:
    look = Look(columns, board.at, words)
    return "\n".join(row.text for row in [*header(board, look, LIVE), *rows(board, look)])


def line_with(text: str, board: Board, columns: int = 110) -> str:
    return next(line for line in drawn(board, columns).splitlines() if text in line)


def test_the_header_tells_how_far_the_whole_is_and_what_it_costs(board: Board) -> None:
    first, second, *_ = drawn(board).splitlines()
    assert "4 of 17 done" in first
    assert "1 failed" in first
    assert f"seq {board.seq}" in first
    assert "24%" in second
    assert "about" in second
    assert "min left" in second
    assert "$1.59 today" in second
    assert "/h" in second


def test_nothing_is_nearly_done_while_tasks_wait(board: Board) -> None:
    soon = board.evolve(progress=board.progress.evolve(left_s=2.0))
    assert expected(soon) == "about 2 s left"
    assert expected(soon.evolve(waiting=0)) == "nearly done"


def test_what_needs_a_human_comes_first_with_its_key(board: Board) -> None:
    lines = drawn(board).splitlines()
    assert lines[2].startswith(" NEEDS YOU  6")
    assert "a answer" in line_with("Which format should be the default?", board)
    assert "[table]  [json]  [csv]" in drawn(board)
    assert "May it use Bash? npm install" in drawn(board)
    assert "l land" in line_with("Let the till print in two colours", board)
    assert "w wake" in line_with("claude is logged out", board)
    assert "t retry" in line_with("Port the importer", board)
    assert "your working tree has local edits on main" in drawn(board)


def test_each_agent_is_shown_with_its_time_against_the_usual(board: Board) -> None:
    assert "WORKING  3 of 6" in drawn(board)
    line = line_with("Extract the mailer", board)
    assert "agent-1" in line
    assert "12:00" in line
    assert "usual 15 min" in line
    below = line_with("Edit src/mail/send.py", board)
    assert "context 41%" in below
    assert "$0.31" in below


def test_what_waits_says_why_and_what_lands_says_when(board: Board) -> None:
    assert f"waits for {AT_WORK[0][0]}" in line_with("Mail receipts", board)
    assert "ready" in line_with("Describe the API", board)
    assert "paused" in line_with("Drop the old importer", board)
    assert "lands next" in line_with("Sort the shelves", board)
    assert "15 min ago" in line_with("Say what a refund costs", board)


@pytest.mark.parametrize("columns", [20, 40, 60, 76, 80, 120, 250])
def test_no_line_is_wider_than_the_screen(board: Board, columns: int) -> None:
    assert max(width(line) for line in drawn(board, columns).splitlines()) <= columns


def test_words_filter_the_board(board: Board) -> None:
    shown = drawn(board, words="mail")
    assert "Extract the mailer" in shown
    assert "Mail receipts" in shown
    assert "Describe the API" not in shown
    assert "nothing matches" in drawn(board, words="nowhere at all")


def test_everything_with_a_key_can_be_chosen_once(board: Board) -> None:
    found = keys(rows(board, Look(110, board.at)))
    assert found[0] == "need:q2v8ynrt.1.q"
    assert len(found) == len(set(found))
    assert "task:k3m9x2pa" in found


async def test_hostile_words_are_inert(tmp_path: Path) -> None:
    async with scene(tmp_path / "home") as made:
        await made.begin()
        await made.add("k3m9x2pa", "Evil [red]bold[/] title " + "x" * 150)
        run = await made.start("k3m9x2pa")
        await made.tell(run, "run.said", HOSTILE * 3 + "\n\x07\x9b31m more")
        shown = drawn(await BoardReader(made.fleet).read())
    assert "Evil [red]bold[/]" in shown
    assert all(line.isprintable() for line in shown.splitlines())


async def test_an_empty_fleet_says_what_to_do(tmp_path: Path) -> None:
    async with scene(tmp_path / "home") as made:
        assert "fleet add" in drawn(await BoardReader(made.fleet).read())


async def test_progress_begins_anew_with_the_next_batch(tmp_path: Path) -> None:
    async with scene(tmp_path / "home") as made:
        await made.begin()
        reader = BoardReader(made.fleet)
        await made.add("aaaaaaaa", "First")
        made.clock.advance(minutes=1)
        await made.finish("aaaaaaaa")
        made.clock.advance(minutes=1)
        await made.add("bbbbbbbb", "Second")
        assert (await BoardReader(made.fleet).read()).progress.total == 1
        await made.finish("bbbbbbbb")
        assert (await reader.read()).progress.total == 0
        made.clock.advance(minutes=1)
        await made.add("cccccccc", "Third")
        assert (await reader.read()).progress.total == 1
        await made.finish("cccccccc")
        done = (await reader.read()).progress
        assert (done.done, done.total) == (1, 1)


async def test_the_expected_end_is_unknown_without_history(tmp_path: Path) -> None:
    async with scene(tmp_path / "home") as made:
        await made.begin()
        await made.add("aaaaaaaa", "First", complexity=Complexity.SMALL)
        await made.start("aaaaaaaa")
        board = await BoardReader(made.fleet).read()
        assert "no estimate" in drawn(board)
        assert "usual ?" in drawn(board)


async def test_a_silent_agent_is_marked_until_it_speaks_again(tmp_path: Path) -> None:
    async with scene(tmp_path / "home") as made:
        await made.begin()
        reader = BoardReader(made.fleet)
        await made.add("aaaaaaaa", "First")
        run = await made.tell(await made.start("aaaaaaaa"), "run.quiet", "no output for 120 s")
        assert "quiet: no output for 120 s" in drawn(await reader.read())
        run = await made.tell(run, "run.said", "There I am")
        assert "There I am" in drawn(await reader.read())
        await made.tell(run, "run.stopping", "it ran longer than 60 s")
        assert "stopping: it ran longer" in drawn(await reader.read())
