"""The how-to on coders: its adapter is run as printed, against a program of that kind."""

import asyncio
import os
import re
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.coder import Coder
from codefleet.coders import jsonl
from codefleet.coders.command import coder as command
from codefleet.domain.signals import Finished, Said, Started
from codefleet.runner.process import custody
from tests.coders.assignments import assignment

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-coder.md"
PARROT = """#!/bin/sh
echo '{"event": "hatched", "session": "nest-1"}'
echo "{\\"event\\": \\"speech\\", \\"words\\": \\"$(cat)\\"}"
echo 'feathers, which are not JSON'
echo "{\\"event\\": \\"nap\\", \\"words\\": \\"$*\\"}"
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@cache
def parrot() -> Coder:
    [source] = blocks("python")
    module = ModuleType("fleet_parrot")
    exec(compile(source, "fleet_parrot", "exec"), module.__dict__)
    coder: Coder = module.coder
    return coder


async def test_the_adapter_on_the_page_drives_its_program(tmp_path: Path) -> None:
    program = tmp_path / "parrot"
    program.write_text(PARROT)
    program.chmod(0o755)
    given = assignment(tmp_path, "Say hello", resume="nest-0")
    coder = parrot()
    kept = await custody.start(
        given.prompt_file.parent,
        coder.start(given),
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        run_id=f"{tmp_path.name}.1",
        grace_s=1,
    )
    async with asyncio.timeout(60):
        assert (await kept.ended()).code == 0
    signals = [signal for line in kept.lines(0, final=True)[0] for signal in coder.read(line)]
    assert signals == [Started("nest-1"), Said("Say hello"), Finished("--json --resume=nest-0")]


@given(st.text() | st.from_regex(r'\{"event": "\w+", "words": .*\}'))
def test_the_adapter_on_the_page_survives_any_line(line: str) -> None:
    list(parrot().read(line))


def test_the_configuration_on_the_page_is_accepted(tmp_path: Path) -> None:
    options = tomllib.loads(blocks("toml")[0])["coders"]["command"]
    start = command.start(assignment(tmp_path, model="big", options=options))
    assert list(start.argv)[:2] == ["my-agent", "--model=big"]
    assert start.env == {"MY_AGENT_COLOR": "off"}


def test_the_page_names_the_group_that_is_searched() -> None:
    assert tomllib.loads(blocks("toml")[1])["project"]["entry-points"].keys() == {
        "codefleet.coders"
    }


@pytest.mark.parametrize("kind", sorted(jsonl.READERS))
def test_the_page_names_every_kind_of_line(kind: str) -> None:
    assert f"`{kind}`" in PAGE.read_text()
