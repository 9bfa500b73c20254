"""What the fleet needs of an operating system; the modules of `linux` and `posix` provide it."""

import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class Processes(Protocol):
    """A process is identified by its pid and its start: pids are reused. Zombies count as gone."""

    def pids(self) -> Iterator[int]:
        """Every process that we may inspect and signal, except ourselves."""

    def started(self, pid: int) -> int | None:
        """When it started, as a number that only identifies it; None if it is gone."""

    def is_alive(self, pid: int, since: int) -> bool: ...

    def send(self, pid: int, since: int, what: signal.Signals) -> None:
        """Signal it, if it is still alive."""

    def kill(self, processes: Iterable[tuple[int, int]]) -> None:
        """Kill all of them and wait briefly for each to end."""

    async def ended(self, pid: int, since: int) -> None:
        """Wait for its end."""

    async def child_ended(self, pid: int) -> None:
        """Wait for the end of a child of ours that someone else reaps."""

    def descendants(self, pid: int) -> set[int]:
        """All descendants of this process that can be found while the tree changes."""

    def parent(self, pid: int) -> int:
        """Its parent; 0 if unknown."""

    def program(self, pid: int) -> str:
        """The name of its program; empty if unknown."""

    def arguments(self, pid: int) -> Sequence[str]:
        """Its command line; empty if unknown."""

    def variables(self, pid: int, name: str) -> Sequence[str]:
        """The values that a variable had when its program started."""

    def places(self, pid: int) -> Iterator[str]:
        """Its working directory first, then its root and the files it has open, if known."""

    def cpu_seconds(self, pid: int) -> float:
        """Processor time of one process and, if known, of its children that were waited for."""

    def memory_kb(self, pid: int) -> int:
        """Memory of one process; 0 if unknown."""


class Files(NamedTuple):
    """What a child reads and writes, as descriptors of open files."""

    stdin: int
    stdout: int
    stderr: int


class Child(Protocol):
    """A program that we started; it is reaped when it ends."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""

    def kill(self) -> None: ...

    async def wait(self) -> int:
        """Wait for its end and return how it ended; what it started may go on."""


class Children(Protocol):
    """Programs that run for moments, with their output in files: nothing has to be read until they
    end, and no child of theirs keeps us waiting."""

    def unnamed_file(self) -> int:
        """A descriptor of a new empty file that is gone when it is closed."""

    async def start(
        self,
        argv: Sequence[str],
        files: Files,
        *,
        cwd: Path,
        env: Mapping[str, str],
        pass_fds: Sequence[int],
        leads: bool,
    ) -> Child:
        """Start a program; with `leads`, it leads a session and process group of its own."""


class Marks(Protocol):
    """A number that marks a process and all that it starts; see `codefleet.runner.process`."""

    def own(self) -> int:
        """The highest mark that this process can give, or -1 if there is no limit; 0 for none."""

    def of(self, pid: int) -> int:
        """The same for another process."""

    def put(self, pid: int, number: int) -> None:
        """Mark a process; nothing happens if it has ended or cannot be marked."""


class Machine(Protocol):
    WEAKER: Sequence[str]
    """What the fleet does less well on this platform, each in a sentence."""

    def boot(self) -> str:
        """An identifier that no other boot of this machine has."""

    def pid_scope(self) -> str:
        """Where a pid means the same process: one boot, or one container; empty if unknown."""

    def watch(self, file: Path) -> int | None:
        """A descriptor that becomes readable when anyone reads this file; None if impossible."""

    def cpus(self) -> int:
        """The number of processors that we may use."""

    def memory_left(self) -> float:
        """Bytes of memory that new processes may take."""

    def processes_left(self) -> float:
        """How many more processes we may start."""


class Tree(Protocol):
    """What an agent has started, and what of it is left; used by its keeper."""

    look_every: float | None
    """How often to call `look`, in seconds; None if nothing can escape in between."""

    def look(self, agent: int) -> None:
        """Note what the agent has started so far."""

    def any_left(self) -> bool: ...

    def living(self) -> set[int]:
        """The processes of the tree that can be found now, without this one."""

    def send(self, what: signal.Signals, pids: set[int]) -> None: ...

    def started(self, pid: int) -> int:
        """What identifies a process, together with its pid."""
