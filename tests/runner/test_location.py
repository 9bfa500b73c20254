"""Where a path leads: neither a link nor `..` disguises it."""

from pathlib import Path

import pytest

from codefleet.runner.output.location import resolved


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    top = tmp_path / "tree"
    (top / "src").mkdir(parents=True)
    (top / "src/out").symlink_to(tmp_path / "elsewhere")
    (top / "src/key").symlink_to(tmp_path / "elsewhere/key")
    (tmp_path / "alias").symlink_to(top)
    return top


@pytest.mark.parametrize(
    "path", ["src/a", "./src//a", "src/b/../a", "{top}/src/a", "{alias}/src/a"]
)
def test_a_file_of_the_worktree_is_told_from_its_top(top: Path, path: str) -> None:
    named = path.format(top=top, alias=top.parent / "alias")
    assert resolved([named], top) == resolved([named], top.parent / "alias") == "src/a"


@pytest.mark.parametrize("path", ["src/out/x", "src/../../elsewhere/x", "{top}/src/out/b/../x"])
def test_a_file_outside_is_told_in_full(top: Path, path: str) -> None:
    assert resolved([path.format(top=top)], top) == str(top.parent / "elsewhere/x")


def test_a_neighbour_whose_name_begins_alike_is_outside(top: Path) -> None:
    assert resolved([f"{top}-2/src/a"], top) == f"{top}-2/src/a"


def test_a_link_is_told_with_what_it_leads_to(top: Path) -> None:
    assert resolved(["src/key"], top) == f"src/key\n{top.parent / 'elsewhere/key'}"


def test_a_link_that_leads_to_itself_and_a_name_that_cannot_be_are_told_too(top: Path) -> None:
    (top / "loop").symlink_to("loop")
    assert resolved(["loop/x", "a\0b"], top) == "loop/x\nab"


def test_several_files_are_told_on_a_line_each(top: Path) -> None:
    assert resolved(["src/a", "src/out/b"], top) == f"src/a\n{top.parent / 'elsewhere/b'}"
