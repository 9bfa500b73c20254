"""The README keeps its promises."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from codefleet.coders.registry import coder
from codefleet.runner.git import git as git_module
from tests.docs.pages import PAGES, ROOT, blocks, name, steps

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKE = re.compile(r"^ *make (\w+)|`make (\w+)`", re.MULTILINE)


def test_the_first_screen_is_a_sentence_and_a_session_that_is_run() -> None:
    typed = [s.command for b in blocks(ROOT / "README.md") for s in steps(b)]
    assert [command.split()[1] for command in typed if command.startswith("fleet")] == [
        *("init", "add", "status", "run")
    ]
    assert README.index("```console") < README.index("\n## ")


@pytest.mark.slow
def test_the_demo_lands_all_its_tasks_and_says_where_to_look(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "codefleet", "demo", "--keep", str(tmp_path / "kept")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "10 of 10 tasks landed on the trunk" in done.stderr
    assert "own tests pass on the trunk" in done.stderr
    looked = re.findall(r"^  (fleet .*|git .*)$", done.stderr, re.MULTILINE)
    assert looked
    for line in looked:
        words = line.replace("fleet ", f"{sys.executable} -m codefleet ", 1).split()
        assert subprocess.run(words, capture_output=True).returncode == 0, line


def test_make_has_every_target_that_a_page_names() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (target, name(page))
        for page in PAGES
        for pair in MAKE.findall(page.read_text())
        for target in filter(None, pair)
    }
    assert {target for target, _ in named} >= {"demo", "test"}
    assert {(target, page) for target, page in named if target not in targets} == set()


def test_the_versions_that_are_needed_are_those_that_the_code_asks_for() -> None:
    python = PROJECT["requires-python"].removeprefix(">=")
    [git] = re.findall(r"install (git [\d.]+ or newer)", Path(git_module.__file__).read_text())
    for page in ("README.md", "CONTRIBUTING.md", "docs/tutorial.md"):
        text = (ROOT / page).read_text()
        assert f"Python {python} or newer" in text, page
        assert git in text, page


def test_the_coders_that_are_in_are_named_and_no_others_are_promised() -> None:
    said = README[README.index("These coders are included") : README.index("`fleet coders` shows")]
    ours = PROJECT["entry-points"]["codefleet.coders"]
    assert set(re.findall(r"`(\w+)`", said)) == set(ours)
    proven, unproven = said.split("each proven with the real program")
    for each in ours:
        assert f"`{each}`" in (proven if coder(each).abilities.verified else unproven), each


def test_nobody_is_told_to_install_a_stranger_by_our_name() -> None:
    by_name = re.compile(r"""install (?:-\S+ |["'])*codefleet(?:\[|['"`\s]|$)""")
    sources = (*PAGES, *(ROOT / "src").rglob("*.py"))
    told = [(file.name, line) for file in sources for line in by_name.findall(file.read_text())]
    assert told == []
    assert "on the package index, `codefleet` is another project" in " ".join(README.split())
