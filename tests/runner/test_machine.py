"""What a container allows its processes."""

from pathlib import Path

import psutil
import pytest

from codefleet.platform.linux.machine import memory_left, processes_left

NEW = {
    "memory.max": "1000\n",
    "memory.current": "900\n",
    "memory.stat": "anon 500\ninactive_file 300\n",
    "pids.max": "64\n",
    "pids.current": "60\n",
}
OLD = {
    "memory/memory.limit_in_bytes": "1000\n",
    "memory/memory.usage_in_bytes": "900\n",
    "memory/memory.stat": "rss 1\ntotal_inactive_file 300\n",
    "pids/pids.max": "64\n",
    "pids/pids.current": "60\n",
}


pytestmark = pytest.mark.linux


def make(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize("files", [NEW, OLD], ids=["version 2", "version 1"])
def test_a_control_group_limits_what_is_left(tmp_path: Path, files: dict[str, str]) -> None:
    make(tmp_path, files)
    assert memory_left(tmp_path) == 400
    assert processes_left(tmp_path) == 4


def test_without_limits_the_machine_is_the_limit(tmp_path: Path) -> None:
    make(tmp_path, {**NEW, "memory.max": "max\n", "pids.max": "max\n"})
    assert 0 < memory_left(tmp_path) <= psutil.virtual_memory().total
    assert processes_left(tmp_path) == float("inf")
