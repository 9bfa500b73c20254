"""Run tests on the POSIX platform, and fail if any code of ours needed Linux.

python -m tests.platform               what `make posix` runs
python -m tests.platform ARGUMENTS     pytest with these arguments
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.platform.trap.sitecustomize import RECORD

TRAP = Path(__file__).with_name("trap")
PROCESSES = ("custody", "custody_adoption", "custody_input", "custody_lines", "identity", "keeper")
AROUND = ("leftovers", "locks", "peers", "tail", "worktree_pool")
ROOMS = tuple(f"tests/runner/test_{name}.py" for name in (*PROCESSES, *AROUND))
KILLS = "tests/faults/test_kill_the_runner.py"
FEWER_KILLS = f"{KILLS}::test_kills_of_the_runner_lose_and_repeat_nothing[3]"
PIECES = (
    ["-m", "not slow", "-k", "not postgres", *ROOMS, "tests/store", "tests/stories"],
    [KILLS, f"--deselect={FEWER_KILLS}"],  # ten kills show what three do
)


def main(arguments: Sequence[str]) -> int:
    pieces = [arguments] if arguments else [["-n", "3", *piece] for piece in PIECES]
    codes = [run(piece) for piece in pieces]
    return max(codes)


def run(arguments: Sequence[str]) -> int:
    """Run pytest where Linux is out of reach; the exit code."""
    with tempfile.NamedTemporaryFile("r", prefix="fleet-tests-trap-") as record:
        env = {
            **os.environ,
            RECORD: record.name,
            "FLEET_PLATFORM": "posix",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(TRAP), os.getenv("PYTHONPATH")))),
        }
        code = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments], env=env, check=False
        ).returncode
        if breaches := record.read():
            sys.stderr.write(f"needs Linux:\n{breaches}")
            return 1
        return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
