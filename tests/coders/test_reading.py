"""No output of a program, however broken, breaks any coder's parser."""

import itertools
import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.coders import registry
from codefleet.coders.jsonl import parsed
from codefleet.domain.signals import Asks, Broke, Limited
from codefleet.runner.output.tail import Tail
from codefleet.runner.output.transcript import OutputState
from codefleet.runner.process.agent_process import AgentProcess, split_lines
from codefleet.runner.process.custody import Process

FOLDER = Path(__file__).parent / "transcripts"
RECORDED = ("claude", "codex", "gemini", "goose", "opencode")
HUGE = 20 << 20
WORDS = (
    "line 4290: expected 429, got 401",
    "Authentication required, please log in",
    "You've hit your usage limit, said the old test; rate limit exceeded",
    '{"type": "error", "message": "429 Too Many Requests"}',
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@cache
def kinds_of_lines(name: str) -> list[dict[str, Any]]:
    """One recorded line of each shape that this program prints."""
    files = sorted(FOLDER.glob(f"{name}-*.jsonl"))
    lines = (parsed(line) for file in files for line in file.read_text().splitlines())
    shapes = {str(_shape(line)): dict(line) for line in lines if line}
    return list(shapes.values())


def _shape(value: object) -> object:
    """The shape of a value: its keys, and the words that state its kind."""
    if isinstance(value, dict):
        kinds = [value.get(key) for key in ("type", "subtype", "status", "name")]
        return kinds, sorted((key, _shape(inner)) for key, inner in value.items() if key != "tools")
    return [_shape(inner) for inner in value[:1]] if isinstance(value, list) else ""


def paths(value: object) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside this one."""
    inside: Any = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else inside:
        yield (key,)
        yield from ((key, *path) for path in paths(inner))


def swapped(value: Any, path: tuple[Any, ...], other: object) -> Any:
    """A copy with another value at that path."""
    if not path:
        return other
    copy = value.copy()
    copy[path[0]] = swapped(value[path[0]], path[1:], other)
    return copy


def hear(name: str, line: str) -> OutputState:
    """Everything a runner does with a line."""
    heard = OutputState()
    for signal in registry.coder(name).read(line):
        heard.take(signal)
        str(signal).encode()
    heard.spent.json()
    return heard


@pytest.mark.parametrize("name", registry.names())
@given(line=st.text())
def test_no_text_breaks_the_reading(name: str, line: str) -> None:
    hear(name, line)
    hear(name, f'{{"type": "{line}')


@pytest.mark.parametrize("name", RECORDED)
@given(data=st.data())
def test_wrong_values_in_known_places_break_nothing(name: str, data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(kinds_of_lines(name)))
    path = data.draw(st.sampled_from(list(paths(line))))
    hear(name, json.dumps(swapped(line, path, data.draw(json_values))))


@pytest.mark.parametrize("name", RECORDED)
@given(data=st.data())
def test_a_line_that_was_cut_off_means_nothing(name: str, data: st.DataObject) -> None:
    line = json.dumps(data.draw(st.sampled_from(kinds_of_lines(name))))
    cut = line[: data.draw(st.integers(0, len(line) - 1))]
    assert list(registry.coder(name).read(cut)) == []


@pytest.mark.parametrize("name", RECORDED)
def test_a_line_of_twenty_megabytes_can_be_read(name: str) -> None:
    said = json.dumps({"type": "text", "text": "\0x" * (HUGE // 7)})
    for line in (said, said[:-9], "[" * HUGE):
        hear(name, line)


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("words", WORDS)
def test_what_an_agent_writes_about_is_never_its_own_trouble(name: str, words: str) -> None:
    """Its words may appear wherever text appears in good runs."""
    for line in kinds_of_lines(name):
        if not _is_good(name, line):
            continue
        for path in paths(line):
            if path[-1] in ("text", "content", "output", "aggregated_output", "result"):
                end = hear(name, json.dumps(swapped(line, path, words))).end
                assert not isinstance(end, Broke | Limited | Asks), (path, end)


def _is_good(name: str, line: dict[str, Any]) -> bool:
    return not isinstance(hear(name, json.dumps(line)).end, Broke | Limited)


@given(data=st.data(), name=st.sampled_from(RECORDED))
def test_output_that_comes_in_any_pieces_means_the_same(name: str, data: st.DataObject) -> None:
    """Even if a piece ends in the middle of a character, as a program's buffer may."""
    lines = data.draw(st.lists(st.sampled_from(kinds_of_lines(name)), max_size=4))
    output = "".join(f"{json.dumps(line, ensure_ascii=False)} ü€😀\n" for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(output)), max_size=6)))
    assert pieced(output, cuts) == split_lines(output)


def pieced(output: bytes, cuts: list[int]) -> list[str]:
    """The lines seen by a runner that reads after each piece."""
    with tempfile.TemporaryDirectory() as folder:
        tail = Tail(AgentProcess(Path(folder), Process(0, 0), Process(0, 0)), 0)
        read: list[str] = []
        for start, end in itertools.pairwise([0, *cuts, len(output)]):
            with (Path(folder) / "stdout.jsonl").open("ab") as file:
                file.write(output[start:end])
            read += tail.read() or []
        return read + (tail.read(final=True) or [])


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names())
def test_a_file_with_a_line_of_twenty_megabytes_is_read_to_its_end(
    name: str, tmp_path: Path
) -> None:
    huge = json.dumps({"type": "said", "text": "x" * HUGE}).encode()
    broken = b'{"type": "text", "part": {"text": "' + b"\xf0\x9f\0" * (HUGE // 3)
    (tmp_path / "stdout.jsonl").write_bytes(b"\n".join((huge, broken, b'{"type": "last"}\n')))
    tail = Tail(AgentProcess(tmp_path, Process(0, 0), Process(0, 0)), 0)
    lines: list[str] = []
    while read := tail.read():
        lines += read
    assert [len(line) for line in lines][::2] == [len(huge), len('{"type": "last"}')]
    for line in lines:
        hear(name, line)
