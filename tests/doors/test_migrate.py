"""`fleet migrate` and a fleet in PostgreSQL, as a user sees them."""

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest

from codefleet.config import without_password
from codefleet.domain.model import Runner, RunnerId
from codefleet.ports import Write
from codefleet.runner.process.identity import Process
from codefleet.store.sqlite.store import SqliteStore
from codefleet.wiring import SystemClock
from tests import postgres
from tests.doors.conftest import Cli
from tests.gitrepo import SampleRepo
from tests.store.conftest import needs_postgres, postgres_server

pytestmark = needs_postgres
__all__ = ["postgres_server"]


@pytest.fixture
def database() -> str:
    return postgres.shared().fresh()


def export(fleet: Cli) -> list[object]:
    return [json.loads(line) for line in fleet("export", "-").out.splitlines()]


@pytest.fixture
def filled(fleet: Cli) -> Cli:
    """A fleet with some tasks and a log."""
    fleet("add", "Build the till", "--label", "ui")
    first = json.loads(fleet("list", "--json").out)[0]["id"]
    fleet("add", "Paint the till", "--needs", first, "-d", "red\x00 and \\u0000")
    fleet("pause", first)
    return fleet


def test_a_fleet_moves_into_postgresql_and_back_and_is_the_same(
    filled: Cli, home: Path, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = export(filled)
    there = filled("migrate", "--from", f"sqlite://{home / 'fleet.db'}", "--to", database)
    assert there.code == 0, there.err
    assert "2 tasks  sha256" in there.out
    assert "the same" in there.err
    monkeypatch.setenv("FLEET_STORE", database)
    assert len(json.loads(filled("list", "--json").out)) == 2
    back = filled("migrate", "--to", f"sqlite://{tmp_path / 'copy.db'}")
    assert back.code == 0, back.err
    monkeypatch.setenv("FLEET_STORE", f"sqlite://{tmp_path / 'copy.db'}")
    nul = json.dumps("\x00")[1:-1]
    assert export(filled) == json.loads(json.dumps(before).replace(f"red{nul}", "red\\ufffd"))


def test_a_fleet_with_a_living_runner_does_not_move(filled: Cli, home: Path, database: str) -> None:
    async def join() -> None:
        store = SqliteStore.open(home / "fleet.db", clock=SystemClock())
        me = Process.find(os.getpid())
        assert me
        runner = Runner(
            id=RunnerId("r-1"),
            host=socket.gethostname(),
            pid=me.pid,
            pid_started=me.started,
            seats=("x",),
            seen_at=await store.now(),
        )
        await store.write(Write(records=[runner]))
        await store.close()

    asyncio.run(join())
    refused = filled("migrate", "--to", database)
    assert refused.code == 4
    assert "a runner is active" in refused.err


def test_a_store_in_use_takes_no_fleet(filled: Cli, database: str) -> None:
    assert filled("migrate", "--to", database).code == 0
    again = filled("migrate", "--to", database)
    assert again.code == 4
    assert "empty" in again.err


def test_a_store_does_not_move_into_itself(filled: Cli, home: Path) -> None:
    same = f"sqlite://{home / 'fleet.db'}"
    assert filled("migrate", "--from", same, "--to", same).code == 2


def test_doctor_names_the_store_and_its_server(
    fleet: Cli, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "store SQLite" in fleet("doctor").out
    monkeypatch.setenv("FLEET_STORE", database)
    assert fleet("init").code == 0
    assert "store PostgreSQL " in fleet("doctor").out


def test_the_doctor_tells_which_repos_a_machine_can_work_on(
    fleet: Cli, repo: SampleRepo, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = repo.path.with_name("shop.git")
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    repo.git("remote", "add", "origin", str(bare))
    monkeypatch.setenv("FLEET_STORE", database)
    assert fleet("init").code == 0

    def says(host: str) -> str:
        monkeypatch.setenv("FLEET_HOST", host)
        return fleet("doctor").out

    here = socket.gethostname()
    assert f"ok    repo shop: worked on by {here} alone" in says("lab-3")
    monkeypatch.setenv("FLEET_HOST", here)
    assert fleet("init", "--share").code == 0
    assert f"ok    repo shop: the next runner here copies it from {bare}" in says("lab-3")
    assert f"ok    repo shop: {repo.path}, trunk main" in says(here)
    bare.rename(bare.with_name("gone.git"))
    for host in ("lab-3", here):
        assert f"repo shop: its remote {bare} cannot be used: fatal: " in says(host)
    bare.with_name("gone.git").rename(bare)
    repo.path.rename(repo.path.with_name("moved"))
    monkeypatch.chdir(bare.parent)
    assert "`fleet init --moved shop`" in says(here)


def test_a_password_is_never_shown(fleet: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_STORE", "postgresql://ann:hush@127.0.0.1:1/fleet?password=hush")
    for words in (["status"], ["doctor"], ["config", "show"], ["config", "show", "--json"]):
        result = fleet(*words)
        assert "127.0.0.1" in f"{result.out}{result.err}"
        assert "hush" not in f"{result.out}{result.err}"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:a@b:c/d@db/fleet", "postgresql://ann:***@db/fleet"),
        ("postgresql://ann@db/fleet", "postgresql://ann@db/fleet"),
        (
            "postgresql://db/fleet?password=x&user=ann",
            "postgresql://db/fleet?password=***&user=ann",
        ),
        ("sqlite:////home/ann/fleet.db", "sqlite:////home/ann/fleet.db"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert without_password(address) == shown


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hush@a..b/fleet",
        f"postgresql://ann:hush@{'a' * 64}.org/fleet",
        "mysql://x",
    ],
)
@pytest.mark.parametrize("setting", ["store", "store_direct"])
def test_an_address_that_leads_nowhere_is_refused_by_its_setting(
    fleet: Cli, database: str, setting: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_STORE", database)
    monkeypatch.setenv(f"FLEET_{setting.upper()}", address)
    result = fleet("status")
    assert (result.code, "hush" in result.err) == (2, False)
    assert result.err.startswith(f"error: {setting}: this is not the address of a ")


def test_an_address_of_no_store_is_refused(fleet: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_STORE", "mysql://ann:hush@db/fleet")
    result = fleet("status")
    assert (result.code, "hush" in result.err) == (2, False)
    assert "postgresql://" in result.err
