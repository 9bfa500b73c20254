"""What a run's folder shows about its agent."""

import json
from pathlib import Path

import pytest

from codefleet.runner.process.run_folder import ProcessInfo, process_info


@pytest.mark.parametrize(
    ("end", "code"),
    [({"code": 3, "signal": None}, 3), ({"code": None, "signal": 9}, -9), ({"code": 0}, 0)],
)
def test_the_end_of_an_agent_is_one_number(
    tmp_path: Path, end: dict[str, object], code: int
) -> None:
    (tmp_path / "exit.json").write_text(json.dumps(end))
    assert process_info(tmp_path) == ProcessInfo(exit_code=code)


def test_a_folder_without_traces_tells_nothing(tmp_path: Path) -> None:
    assert process_info(tmp_path / "nowhere") == ProcessInfo()


def test_a_living_agent_has_a_process_and_a_last_word(tmp_path: Path) -> None:
    one = {"pid": 41, "started": 1}
    (tmp_path / "keeper.json").write_text(json.dumps({"keeper": one, "agent": {**one, "pid": 42}}))
    (tmp_path / "stdout.jsonl").write_text("{}")
    found = process_info(tmp_path)
    assert (found.pid, found.exit_code) == (42, None)
    assert found.last_output == (tmp_path / "stdout.jsonl").stat().st_mtime
