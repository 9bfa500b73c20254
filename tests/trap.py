"""A `git` on the PATH that does what a test plans, and then what it was asked to do.

The plan is a piece of shell. It runs before every git that the code under test starts (the tests'
own git commands are not affected), with the arguments in `$@`, git itself in `$GIT` and the number
of the call in `$call`.
"""

import shlex
import shutil
from pathlib import Path

WRAPPER = """\
#!/bin/sh
GIT={git}
home={home}
if [ -n "$GIT_OPTIONAL_LOCKS" ]; then
    call=$(($(cat "$home/calls") + 1))
    echo $call > "$home/calls"
    once() {{ mkdir "$home/once" 2>/dev/null; }}
    own() {{ env -u GIT_INDEX_FILE -u GIT_OPTIONAL_LOCKS "$GIT" "$@"; }}
    . "$home/plan"
fi
exec "$GIT" "$@"
"""
KILL_GIT = """\
#!/bin/sh
# Kill the git that runs this filter, and the git that runs that one.
at=$$
while [ "$at" -gt 1 ]; do
    at=$(sed 's/.*) . \\([0-9]*\\) .*/\\1/' "/proc/$at/stat")
    case "$(cat "/proc/$at/comm")" in git) gits="$gits $at" ;; esac
done
kill -9 $gits
"""


class Trap:
    """Put `folder` first on the PATH for the trap to work."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "bin"
        self.folder.mkdir(parents=True)
        real = shutil.which("git")
        assert real
        self.plan("")
        self._program("git", WRAPPER.format(git=shlex.quote(real), home=shlex.quote(str(home))))
        self.kill_git = self._program("kill-git", KILL_GIT)

    def plan(self, shell: str) -> None:
        """Arm the trap again; `once` succeeds only one time."""
        shutil.rmtree(self.home / "once", ignore_errors=True)
        (self.home / "calls").write_text("0\n")
        (self.home / "plan").write_text(shell)

    @property
    def calls(self) -> int:
        return int((self.home / "calls").read_text())

    @property
    def sprung(self) -> bool:
        return (self.home / "once").exists()

    def _program(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return file
