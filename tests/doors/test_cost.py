"""`fleet cost`, and what `fleet status` and `fleet show` say about costs."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from codefleet.domain.model import Event
from codefleet.ports import Write
from codefleet.wiring import open_fleet
from tests.doors.conftest import Cli, on_a_terminal
from tests.doors.test_add import added
from tests.script import script

DEFAULTS = {"coder": "codex", "model": "m1", "repo": "shop", "source": "reported"}


def spent(home: Path, *lines: dict[str, Any]) -> None:
    """Write ledger entries, each `days` ago."""

    async def write() -> None:
        async with open_fleet(home) as fleet:
            now = await fleet.core.store.now()
            events = [
                Event(
                    at=now - timedelta(days=line.pop("days", 0)),
                    kind="run.used",
                    task=line.pop("task", None),
                    data={**DEFAULTS, **line},
                )
                for line in (dict(line) for line in lines)
            ]
            await fleet.core.store.write(Write(events=events))

    asyncio.run(write())


def cells(printed: str) -> list[list[str]]:
    return [line.split() for line in printed.splitlines()]


def test_the_bill_is_by_day_and_coder_with_a_total(fleet: Cli, home: Path) -> None:
    spent(
        home,
        {"days": 1, "cost_usd": 1.0, "input_tokens": 1000},
        {"cost_usd": 2.0, "input_tokens": 1500, "output_tokens": 500, "cached_tokens": 70},
        {"cost_usd": 0.5, "coder": "claude"},
        {"days": 8, "cost_usd": 99.0},
    )
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    heading, *rows, total = cells(fleet("cost").out)
    assert heading == ["DAY", "CODER", "COST", "TOKENS", "CACHED"]
    assert [row[1:5] for row in rows] == [
        ["codex", "$1.00", "1,000", "0"],
        ["claude", "$0.50", "0", "0"],
        ["codex", "$2.00", "2,000", "70"],
    ]
    assert [row[0] for row in rows[1:]] == [today] * 2
    assert total == ["total", "$3.50", "3,000", "70"]


def test_a_bar_is_as_long_as_its_share(fleet: Cli, home: Path) -> None:
    spent(home, {"cost_usd": 4.0, "coder": "a"}, {"cost_usd": 1.0, "coder": "b"})
    dear, cheap = cells(fleet("cost", "--by", "coder").out)[1:3]
    assert (dear[-1], cheap[-1]) == ("█" * 24, "█" * 6)


def test_without_money_the_bars_are_of_tokens(fleet: Cli, home: Path) -> None:
    spent(home, {"input_tokens": 100}, {"input_tokens": 25, "coder": "b"})
    assert [row[-1] for row in cells(fleet("cost", "--by", "coder").out)[1:3]] == [
        "█" * 24,
        "█" * 6,
    ]


def test_other_things_than_days_come_dearest_first(fleet: Cli, home: Path) -> None:
    spent(home, {"cost_usd": 1.0, "repo": "a"}, {"cost_usd": 3.0, "repo": "b"})
    printed = fleet("cost", "--by", "repo", "--by", "model").out
    assert [row[:2] for row in cells(printed)[1:3]] == [["b", "m1"], ["a", "m1"]]


def test_a_task_is_shown_with_its_title(fleet: Cli, home: Path) -> None:
    task = added(fleet, "Paint the mug")
    spent(home, {"cost_usd": 1.0, "task": task})
    assert f"{task}  Paint the mug  $1.00" in fleet("cost", "--by", "task").out


def test_a_guess_is_marked_and_explained(fleet: Cli, home: Path) -> None:
    spent(home, {"cost_usd": 1.0, "source": "estimated"})
    printed = fleet("cost", "--by", "coder")
    assert "~$1.00" in printed.out
    assert "is an estimate" in printed.err
    assert "list prices of 20" in printed.err


def test_tokens_without_a_price_are_told_with_the_way_to_give_one(fleet: Cli, home: Path) -> None:
    spent(
        home,
        {"input_tokens": 500, "source": "unpriced", "model": "house-9.1"},
        {"cost_usd": 1.0, "coder": "claude"},
        {"input_tokens": 70, "source": "unpriced", "coder": "claude", "model": None},
    )
    printed = fleet("cost", "--by", "coder")
    rows = {row[0]: row[1:-1] for row in cells(printed.out)}
    assert rows["codex"][:1] == ["?"]
    assert rows["claude"][:3] == ["$1.00", "+", "?"]
    assert "570 tokens" in printed.err
    assert "fleet config set prices.house-9.1 '{ input" in printed.err
    assert "some runs name no model" in printed.err
    assert "prices.-" not in printed.err


def test_a_bill_for_programs_has_every_source_apart(fleet: Cli, home: Path) -> None:
    spent(home, {"cost_usd": 1.0}, {"cost_usd": 2.0, "source": "priced"})
    rows = json.loads(fleet("cost", "--by", "coder", "--json").out)
    assert [(row["coder"], row["source"], row["usage"]["cost_usd"]) for row in rows] == [
        ("codex", "priced", 2.0),
        ("codex", "reported", 1.0),
    ]


@pytest.mark.parametrize(
    ("since", "until", "cost"),
    [
        ("12h", "0h", 1.0),
        ("300m", None, 1.0),
        ("3d", "1d", 2.0),
        ("1w", None, 3.0),
        ("2020-01-01", "2d", 2.0),
    ],
)
def test_a_bill_is_of_a_time(
    fleet: Cli, home: Path, since: str, until: str | None, cost: float
) -> None:
    spent(home, {"cost_usd": 1.0, "days": 0.1}, {"cost_usd": 2.0, "days": 2.5})
    limits = ["--since", since, *(["--until", until] if until else [])]
    rows = json.loads(fleet("cost", "--by", "repo", "--json", *limits).out)
    assert sum(row["usage"]["cost_usd"] for row in rows) == cost


@pytest.mark.parametrize("when", ["yesterday", "9999999d", "7", "2026-13-01", ""])
def test_a_time_that_is_none_is_refused(fleet: Cli, when: str) -> None:
    refused = fleet("cost", "--since", when)
    assert refused.code == 2
    assert "Traceback" not in refused.err


def test_nothing_spent_is_said_and_is_no_table(fleet: Cli) -> None:
    printed = fleet("cost")
    assert printed.out == ""
    assert "nothing spent" in printed.err
    assert json.loads(fleet("cost", "--json").out) == []


def test_a_bill_fits_a_narrow_terminal(fleet: Cli, home: Path) -> None:
    spent(home, {"cost_usd": 1.0, "model": "m" * 200})
    printed = on_a_terminal("cost", "--by", "model", COLUMNS="70")
    assert "…" in printed


def test_status_says_how_much_of_a_limit_is_spent(fleet: Cli, home: Path) -> None:
    fleet("config", "set", "day_budget_usd", "10")
    fleet("config", "set", "repos.shop.repo_day_budget_tokens", "1000")
    spent(home, {"cost_usd": 2.5, "input_tokens": 400})
    printed = fleet("status").out
    assert "limit    the fleet has cost 2.50 USD today, 25 % of 10.00 USD allowed" in printed
    assert "limit    shop has cost 400 tokens today, 40 % of 1,000 tokens allowed" in printed


def test_a_task_that_waits_for_the_day_says_so(fleet: Cli, home: Path) -> None:
    fleet("config", "set", "day_budget_usd", "2")
    spent(home, {"cost_usd": 2.0})
    task = added(fleet, "Wait")
    why = "the fleet has spent today's 2.00 USD; resumes at 00:00 UTC"
    for printed in (fleet("show", task), fleet("list"), fleet("status")):
        assert why in printed.out


def test_a_task_shows_what_is_spent_of_its_budget(fleet: Cli) -> None:
    steps = script("write a.txt a", "usage input=10 cost=0.5")
    task = added(fleet, "Cheap", "-d", steps, "--budget", "2")
    assert fleet("run", "--until-idle").code == 0
    printed = fleet("show", task).out
    assert "budget:     the task has cost 0.50 USD, 25 % of 2.00 USD allowed" in printed
    assert "cost:       $0.50, 10 tokens" in printed
