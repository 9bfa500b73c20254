"""A store whose file is deleted or replaced while it is open: noticed, refused, and saved."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codefleet.domain.errors import StoreGone
from codefleet.ports import TaskQuery
from codefleet.store.sqlite.store import SqliteStore
from tests.store.samples import StillClock, add, ids, task


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(path, clock=StillClock())


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    path.rename(path.with_name("aside"))
    shutil.copy(path.with_name("aside"), path)


def without_wal(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def without_shm(path: Path) -> None:
    path.with_name(f"{path.name}-shm").unlink()


HARM = [deleted, replaced, without_wal, without_shm]


@pytest.mark.parametrize("harm", HARM)
async def test_nothing_is_written_into_a_file_that_is_gone(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "fleet.db"
    store = opened(path)
    await add(store, task("a"))
    harm(path)
    for name in ("b", "c"):
        with pytest.raises(StoreGone):
            await add(store, task(name))
    await store.close()


@pytest.mark.parametrize("harm", [deleted, replaced])
async def test_nothing_is_read_from_a_file_that_is_gone(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "fleet.db"
    store = opened(path)
    harm(path)
    with pytest.raises(StoreGone):
        await store.tasks(TaskQuery())
    await store.close()


@pytest.mark.parametrize("harm", HARM)
async def test_all_that_a_lost_file_held_can_be_imported(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "fleet.db"
    store = opened(path)
    await add(store, task("a"), task("b"))
    harm(path)
    with pytest.raises(StoreGone) as gone:
        await add(store, task("c"))
    await store.close()
    saved = re.search(r"saved in (\S+)", gone.value.problem)
    assert saved
    rescued = Path(saved[1])
    assert (rescued.stat().st_mode & 0o777, f"fleet import {rescued}" in gone.value.hint) == (
        0o600,
        True,
    )
    assert [line.count('"id":') for line in rescued.read_text().splitlines()] == [1, 1]


async def test_several_stores_on_one_file_that_come_and_go_disturb_nobody(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    first = opened(path)
    for name in ("a", "b"):
        other = opened(path)
        await add(other, task(name))
        await other.close()
        await add(first, task(f"{name}2"))
    assert await ids(first, TaskQuery()) == ["a", "a2", "b", "b2"]
    await first.close()
