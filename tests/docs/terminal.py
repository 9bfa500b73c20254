"""A terminal in which the sessions in the docs are really typed, and compared with the page.

What differs from run to run is normalized first: ids, times, commits, numbers of agents. A line
of three dots on a page stands for omitted lines.

    python -m tests.docs.terminal README.md    updates the outputs on the page
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.pages import Block, Step, blocks, steps
from tests.gitrepo import make_repo

READER = "/home/ada"
HOST = "laptop"
ID = re.compile(r"^(w?[a-z][a-z2-9]{7})(?=  |$)|(?<=`fleet answer )([a-z][a-z2-9]{7})")
NAMES_IDS = ("fleet add", "fleet workflow run")
LEFT_OUT = "..."
TROUBLE = ("error:", "Traceback")
ALIKE = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<day>"),
    (re.compile(r"^ *\d+ <time>"), "<seq> <time>"),
    (re.compile(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{7}\b"), "<commit>"),
    (re.compile(r"\bagent-\d+"), "agent-<n>"),
    (re.compile(r"\b\d+(\.\d+)? (s|min)\b"), "<span>"),
    (re.compile(r"\b\d+ lines?\b"), "<n> lines"),
    (re.compile(r"\s+"), " "),
)


class Terminal:
    """One shell with its own home, in which `fleet` is the one under test."""

    def __init__(self, home: Path, shell: subprocess.Popen[str]) -> None:
        self._home = home
        self._shell = shell
        self._ids: dict[str, str] = {}

    def type(self, step: Step) -> list[str]:
        """Run a command of a page; return what it printed, with the page's ids and paths."""
        command = step.command
        for documented, real in self._ids.items():
            command = command.replace(documented, real)
        printed = self._run(command)
        if command.startswith(NAMES_IDS):
            self._learn(step.shown, printed)
        return [self._in_the_pages_words(line) for line in printed]

    def save(self, block: Block) -> None:
        """Write a block to the file that the page names, in the current folder."""
        assert block.file
        folder = Path(self._run("pwd")[0])
        target = Path(block.file.replace("~", str(self._home)))
        (folder / target).write_text("\n".join([*block.lines, ""]), encoding="utf-8")

    def _run(self, command: str) -> list[str]:
        assert self._shell.stdin
        assert self._shell.stdout
        # Stdin is closed, so that no command reads the commands after it.
        self._shell.stdin.write(f"{{ {command}\n}} </dev/null\necho '<end>'\n")
        self._shell.stdin.flush()
        lines = iter(self._shell.stdout.readline, "")
        printed: list[str] = []
        for line in lines:
            if line.endswith("<end>\n"):
                return printed
            printed.append(line.rstrip())
        raise AssertionError(f"the shell ended at: {command}")

    def _learn(self, shown: list[str], printed: list[str]) -> None:
        """Learn which id of this run stands for which id on the page."""
        self._ids |= dict(zip(_ids(shown), _ids(printed), strict=False))

    def _in_the_pages_words(self, line: str) -> str:
        line = line.replace(str(self._home), READER)
        if " runner." in line:
            line = line.replace(socket.gethostname(), HOST)
        for documented, real in self._ids.items():
            line = line.replace(real, documented)
        return line


@contextmanager
def terminal(home: Path) -> Iterator[Terminal]:
    """A terminal of a reader in a small repository `shop`."""
    make_repo(home / "shop", {"README.md": "# shop\n", "till.py": "TOTAL = 0\n"})
    (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    tools = home / ".tools"
    tools.mkdir()
    _tool(tools / "fleet", f'exec {sys.executable} -m codefleet "$@"')
    _tool(tools / "python3", f'exec {sys.executable} "$@"')
    kept = {
        name: os.environ[name] for name in ("LANG", "TMPDIR", "PYTHONPATH") if name in os.environ
    }
    shell = subprocess.Popen(
        ["sh"],
        cwd=home / "shop",
        env={**kept, "HOME": str(home), "PATH": f"{tools}:{os.environ['PATH']}", "TZ": "UTC"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with shell:
        try:
            yield Terminal(home, shell)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)  # with whatever still runs in it


def differs(step: Step, printed: list[str]) -> str | None:
    """What the page shows and the command did not print, or None if they agree."""
    shown, seen = [_alike(line) for line in step.shown], [_alike(line) for line in printed]
    troubles = [line for line in seen if line.startswith(TROUBLE) and line not in shown]
    any_order = step.command.startswith("fleet run")  # agents work in parallel
    if any_order and shown and not troubles and set(shown) <= {*seen, LEFT_OUT}:
        return None
    pattern = "".join(r"(.*\n)*?" if s == LEFT_OUT else f"{re.escape(s)}\n" for s in shown)
    if not troubles and re.fullmatch(pattern, "".join(f"{line}\n" for line in seen)):
        return None
    return "\n".join([f"{step.command} prints", *seen, "but the page shows", *shown])


def _alike(line: str) -> str:
    for pattern, word in ALIKE:
        line = pattern.sub(word, line)
    return line.rstrip()


def _ids(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(found[0] for line in lines if (found := ID.search(line))))


def _tool(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def rewrite(page: Path) -> None:
    """Write what the commands print now into the page, except where lines are left out."""
    lines = page.read_text(encoding="utf-8").splitlines()
    moved = 0
    with tempfile.TemporaryDirectory() as folder, terminal(Path(folder).resolve()) as reader:
        for block in blocks(page):
            if block.file:
                reader.save(block)
            for step in steps(block):
                printed = reader.type(step)
                if LEFT_OUT not in step.shown and differs(step, printed):
                    at = step.start + moved
                    lines[at : at + len(step.shown)] = printed
                    moved += len(printed) - len(step.shown)
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        rewrite(Path(argument).resolve())
