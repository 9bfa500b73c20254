"""A real terminal for the program: it draws on it, reads keys from it, and can lose it."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.doors.conftest import START

BOUND_S = 60.0
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)")
OWN_TERMINAL = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); "  # whatever the tests themselves run under
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """What a program has drawn so far, without colours, and keys to send it."""

    def __init__(self, controller: int, program: "subprocess.Popen[bytes]", *, read: bool) -> None:
        self.program = program
        self._controller = controller
        self._drawn = b""
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        if read:
            self._reader.start()

    def read_on(self) -> None:
        """Start reading what the program draws."""
        self._reader.start()

    @property
    def drawn(self) -> str:
        return ESCAPES.sub("", self._drawn.decode(errors="replace"))

    @property
    def raw(self) -> str:
        return self._drawn.decode(errors="replace")

    def wait_for(self, text: str, since: int = 0) -> int:
        """Wait until this is drawn after that many characters; returns how many there are then."""
        until = time.monotonic() + BOUND_S
        with self._news:
            while text not in self.drawn[since:]:
                left = until - time.monotonic()
                assert left > 0, f"{text!r} was not drawn: {self.drawn[since:][-3000:]}"
                self._news.wait(min(left, 1.0))
        return len(self.drawn)

    def press(self, keys: str) -> int:
        """Type these keys; returns how much was drawn before."""
        before = len(self.drawn)
        os.write(self._controller, keys.encode())
        return before

    def resize(self, columns: int, lines: int) -> int:
        before = len(self.drawn)
        _resize(self._controller, columns, lines)
        return before

    def ended(self) -> int:
        """The program's exit code."""
        code = self.program.wait(timeout=BOUND_S)
        if self._reader.is_alive():
            self._reader.join(timeout=BOUND_S)
        return code

    def close(self) -> None:
        """Close the window: the program loses its terminal."""
        with suppress(OSError):
            os.close(self._controller)

    def _read(self) -> None:
        with suppress(OSError):
            while chunk := os.read(self._controller, 65536):
                with self._news:
                    self._drawn += chunk
                    self._news.notify_all()


@contextmanager
def terminal(
    *args: str, columns: int = 100, lines: int = 30, read: bool = True, **env: str
) -> Iterator[Terminal]:
    """Run the program with these arguments on a terminal of its own."""
    controller, inside = os.openpty()
    _resize(controller, columns, lines)
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    words = [sys.executable, "-c", OWN_TERMINAL, sys.executable, "-c", START, *args]
    with subprocess.Popen(
        words,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env={**own, "TERM": "xterm-256color", **env},
        start_new_session=True,
    ) as program:
        os.close(inside)
        opened = Terminal(controller, program, read=read)
        try:
            yield opened
        finally:
            program.kill()
            program.wait()
            opened.close()


def _resize(controller: int, columns: int, lines: int) -> None:
    fcntl.ioctl(controller, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
