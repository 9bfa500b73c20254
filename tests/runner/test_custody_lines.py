"""Reading an agent's output file: whole lines, whatever bytes it contains."""

from pathlib import Path

import pytest

from codefleet.runner.process.custody import AgentProcess, Process


@pytest.fixture
def output(tmp_path: Path) -> tuple[AgentProcess, Path]:
    nobody = Process(0, 0)
    return AgentProcess(tmp_path, nobody, nobody), tmp_path / "stdout.jsonl"


def test_only_whole_lines_are_read_until_the_end(output: tuple[AgentProcess, Path]) -> None:
    kept, file = output
    assert kept.lines(0) == ([], 0)
    file.write_bytes(b"one\r\n\ntw")
    assert kept.lines(0) == (["one", ""], 6)
    assert kept.lines(6) == ([], 6)
    assert kept.lines(6, final=True) == (["tw"], 8)
    assert kept.lines(8, final=True) == ([], 8)


def test_bytes_that_are_no_text_do_not_stop_the_reading(output: tuple[AgentProcess, Path]) -> None:
    kept, file = output
    file.write_bytes(b"\xff\xfe\0\r10 %\r20 %\n" + '{"a": "\u2028\x0b"}\n'.encode())
    assert kept.lines(0)[0] == ["\ufffd\ufffd\0\r10 %\r20 %", '{"a": "\u2028\x0b"}']


def test_a_line_longer_than_the_limit_is_read_whole(output: tuple[AgentProcess, Path]) -> None:
    kept, file = output
    file.write_bytes(b"x" * 5000 + b"\nnext\n")
    assert kept.lines(0, 1000) == (["x" * 5000, "next"], 5006)


def test_an_endless_line_comes_in_pieces(
    output: tuple[AgentProcess, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codefleet.runner.process.agent_process.LONGEST_LINE", 4000)
    kept, file = output
    file.write_bytes(b"x" * 9000)
    offset, sizes = 0, []
    for _ in range(3):
        lines, offset = kept.lines(offset, 1000)
        sizes += [len(line) for line in lines]
    assert (sizes, offset) == ([4000, 4000], 8000)
    assert kept.lines(offset, 1000, final=True) == (["x" * 1000], 9000)
