"""The library: input from Python is checked like input from the command line."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Budget, Draft
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from codefleet.wiring import open_fleet
from tests.gitrepo import make_repo

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"priority": 9}, "priority: should be a whole number from 1 to 5, not 9"),
    ({"priority": "high"}, "priority: should be a whole number"),
    ({"title": "x" * 201}, "title: should be a string"),
    ({"budget": Budget(usd=float("nan"))}, r"budget\.usd: should be a number above 0, not nan"),
    ({"prompt": "half \ud800"}, "it contains bytes that are not text"),
    ({"labels": (3,)}, r"labels\.0: should be a string"),
    ({"lands": "soon"}, "lands: should be queue or review or branch"),
    ({"not_before": datetime(2030, 1, 31)}, "not_before: should be a time with a time zone"),  # noqa: DTZ001 - a time without a zone is the case
    ({"options": {"it": object()}}, "must be plain JSON"),
    ({"options": {"it": float("nan")}}, r"options\.it: should be a number, not nan"),
    ({"title": 5}, "title: should be a string"),
    ({"labels": "bug"}, 'labels: should be a list, not "bug"'),
    ({"needs": "k3m9x2pa"}, "needs: should be a list"),
    ({"not_before": "tomorrow"}, "'tomorrow' is not a time"),
    ({"model": "large\0"}, "model: a name cannot contain a NUL"),
    ({"labels": ["a\0b"]}, "labels: a name cannot contain a NUL"),
    ({"checks": ["make te\0st"]}, "contains a NUL"),
]


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    repo = make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})
    async with open_fleet(tmp_path / "home", create=True) as fleet:
        await fleet.register(str(repo.path), "main", None)
        yield fleet


@pytest.mark.parametrize(("said", "told"), WRONG, ids=[told for _, told in WRONG])
async def test_a_wrong_draft_is_refused_and_nothing_is_added(
    fleet: Fleet, said: dict[str, Any], told: str
) -> None:
    with pytest.raises(Invalid, match=told):
        await fleet.add([Draft(title="Right"), Draft(**{"title": "Wrong", **said})])
    assert await fleet.list(TaskQuery()) == []


async def test_a_name_that_is_no_text_is_refused(fleet: Fleet) -> None:
    wrong: Any = []
    with pytest.raises(Invalid, match="name: should be a string"):
        await fleet.add([Draft(title="Wrong", name=wrong)])


@pytest.mark.parametrize(("said", "told"), WRONG, ids=[told for _, told in WRONG])
async def test_a_wrong_edit_is_refused_and_changes_nothing(
    fleet: Fleet, said: dict[str, Any], told: str
) -> None:
    (task,) = await fleet.add([Draft(title="Right")])
    with pytest.raises(Invalid, match=told):
        await fleet.edit(task.id, **said)
    assert await fleet.list(TaskQuery()) == [task]


async def test_a_task_is_stored_as_it_is_returned(fleet: Fleet) -> None:
    east = timezone(timedelta(hours=2))
    (task,) = await fleet.add(
        [Draft(title=" two\nwords ", labels=("b", "a", "b"), not_before=datetime.now(east))]
    )
    assert (task.title, task.labels) == ("two words", ("a", "b"))
    assert await fleet.list(TaskQuery()) == [task]


async def test_lists_that_are_no_tuples_are_good_lists(fleet: Fleet) -> None:
    given: dict[str, Any] = {"labels": ["b", "a"], "checks": ["make"]}
    (task,) = await fleet.add([Draft(title="Mend", **given)])
    assert (task.labels, task.checks) == (("a", "b"), ("make",))
    assert await fleet.get(task.id) == task
