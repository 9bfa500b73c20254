"""A real pgbouncer in transaction pooling mode, in front of the tests' own PostgreSQL server.

It is the one on this machine, or else Debian's, which apt downloads into the cache of test programs
with the libraries it lacks: nothing is installed system-wide, and root is not needed.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psycopg

from tests import postgres
from tests.programs.debian import unpacked
from tests.programs.install import NotInstallable

WITHIN_S = 30
SETTINGS = """\
[databases]
* = host={server} user=fleet
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_idle_timeout = 2
server_login_retry = 1
max_client_conn = 500
logfile = {folder}/log
"""
"""So few connections that every client soon gets those of others."""


@cache
def missing() -> str | None:
    """Why pgbouncer is not available here, if so."""
    try:
        _program()
    except NotInstallable as why:
        return f"no pgbouncer: {why}"
    return postgres.missing()


def fresh() -> str:
    """The address of an empty database, through the pool."""
    name = f"pooled_{uuid4().hex}"
    postgres.shared().run(f"CREATE DATABASE {name}")
    return _address(name, _shared())


def ready() -> str:
    """The address of a database with the tables of a store, through the pool."""
    return _address(postgres.shared().copied(), _shared())


def in_front_of(server: postgres.Server) -> str:
    """The address of a server's first database, through a pool of its own."""
    return _address("postgres", _started(server))


def direct(address: str) -> str:
    """The address of the same database without the pool."""
    return postgres.shared().address(address.partition("@/")[2].partition("?")[0])


def _address(database: str, folder: Path) -> str:
    return f"postgresql://fleet@/{database}?host={folder}&port=6432"


class _Program(NamedTuple):
    path: Path
    libraries: str


@cache
def _shared() -> Path:
    return _started(postgres.shared())


def _started(server: postgres.Server) -> Path:
    """Start this process's own pgbouncer; returns the folder of its socket."""
    program = _program()
    folder = Path(tempfile.mkdtemp(prefix="fleet-pool-"))
    postgres.give_to_the_user(folder)
    settings = folder / "pgbouncer.ini"
    settings.write_text(SETTINGS.format(server=server.folder, folder=folder))
    env = {**os.environ, "LD_LIBRARY_PATH": program.libraries}
    argv = [str(program.path), "--quiet", str(settings)]
    running = subprocess.Popen(argv, user=postgres.user(), cwd="/", env=env)
    atexit.register(_end, running, folder, os.getpid())
    _wait_for(_address("postgres", folder))
    return folder


def _wait_for(address: str) -> None:
    until = time.monotonic() + WITHIN_S
    while True:
        try:
            return psycopg.connect(address).close()
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise


def _end(running: "subprocess.Popen[bytes]", folder: Path, maker: int) -> None:
    if os.getpid() == maker:
        running.kill()
        running.wait(WITHIN_S)
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _program() -> _Program:
    if found := shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return _Program(Path(found), os.environ.get("LD_LIBRARY_PATH", ""))
    root = postgres.within_reach(unpacked("pgbouncer"), "pgbouncer")
    libraries = {str(file.parent) for file in root.glob("usr/lib/**/*.so*")}
    return _Program(root / "usr" / "sbin" / "pgbouncer", ":".join(libraries))
