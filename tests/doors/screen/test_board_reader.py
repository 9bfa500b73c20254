"""The board of a process that reads it again and again."""

from pathlib import Path

from codefleet.api import verbs
from codefleet.domain.access import OWNER
from codefleet.fleet.board import BoardReader
from tests.doors.screen.scene import scene


async def test_a_board_that_is_read_again_shows_what_has_happened_since(tmp_path: Path) -> None:
    async with scene(tmp_path / "home") as made:
        await made.begin()
        await made.add("aaaaaaaa", "First")
        assert (await verbs.board(made.fleet)).working == ()
        run = await made.start("aaaaaaaa")
        await made.tell(run, "run.said", "I look around.")
        again = await verbs.board(made.fleet)
        assert [each.doing for each in again.working] == ["I look around."]


async def test_a_process_remembers_what_it_has_read_for_each_actor(tmp_path: Path) -> None:
    async with scene(tmp_path / "home") as made:
        owner = made.fleet.acting_as(OWNER)
        assert BoardReader.of(made.fleet) is BoardReader.of(made.fleet)
        assert BoardReader.of(owner) is BoardReader.of(made.fleet.acting_as(OWNER))
        assert BoardReader.of(owner) is not BoardReader.of(made.fleet)
