"""Write to a terminal that may be stopped or gone, without blocking the runner.

Textual writes in a thread, behind a queue that blocks when it is full. The runner shares the event
loop with the screen: neither Ctrl-S nor a lost connection may stop it.
"""

from contextlib import suppress
from typing import IO, Any

from textual.drivers.linux_driver import LinuxDriver


class PatientDriver(LinuxDriver):
    """Drops what the terminal cannot take now, and redraws everything when it can."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file: Any = _Forgiving(self._file)
        self._is_behind = False

    def write(self, data: str) -> None:
        writer = self._writer_thread
        if writer is None:
            return
        if writer._queue.full():
            self._is_behind = True
            return
        if self._is_behind:
            self._is_behind = False
            self._app.call_later(self._app.refresh, layout=True)
        writer.write(data)


class _Forgiving:
    """A file that ignores write errors, in case the terminal is gone."""

    def __init__(self, file: IO[str] | None) -> None:
        assert file  # without a terminal there is no screen
        self._kept = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._kept.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._kept.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)
