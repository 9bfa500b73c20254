"""`fleet team` and `fleet token`: thin commands that print each secret once, on stdout alone."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from codefleet.domain.access import Holder
from codefleet.domain.errors import Unauthenticated
from codefleet.fleet import Fleet
from codefleet.wiring import open_fleet
from tests.doors.conftest import Cli
from tests.gitrepo import SampleRepo

T = TypeVar("T")

pytestmark = pytest.mark.usefixtures("started")


@pytest.fixture
def started(cli: Cli, repo: SampleRepo) -> None:
    assert cli("init").code == 0
    assert cli("team", "create", "web", "--repo", "shop").code == 0


def ask(home: Path, verb: Callable[[Fleet], Awaitable[T]]) -> T:
    async def asked() -> T:
        async with open_fleet(home) as fleet:
            return await verb(fleet)

    return asyncio.run(asked())


def test_a_token_is_printed_once_and_alone_on_stdout(cli: Cli, home: Path) -> None:
    made = cli("token", "create", "web", "ann", "--role", "team-lead", "--expires", "2h")
    (text,) = made.out.splitlines()
    assert "is for ann@web as team-lead until" in made.err
    assert text not in made.err
    actor = ask(home, lambda fleet: fleet.with_token(text)).actor
    assert isinstance(actor, Holder)
    assert (str(actor), actor.role) == ("ann@web", "team-lead")
    listed = cli("token", "list", "web")
    assert text not in listed.out
    assert listed.out.split()[5:9] == [actor.token, "ann@web", "team-lead", "valid"]


def test_a_revoked_token_is_listed_as_such_and_no_longer_valid(cli: Cli, home: Path) -> None:
    made = json.loads(cli("token", "create", "web", "ann", "--json").out)
    assert (made["handle"], made["role"]) == ("ann", "worker")
    assert f"{made['id']} of ann@web is no longer valid" in cli("token", "revoke", made["id"]).err
    assert "revoked" in cli("token", "list").out
    with pytest.raises(Unauthenticated):
        ask(home, lambda fleet: fleet.with_token(made["text"]))
    assert cli("token", "revoke", "t-none").code == 3


def test_the_secret_of_an_invite_lets_somebody_join(cli: Cli, home: Path) -> None:
    made = cli("team", "invite", "web", "--role", "monitor", "--uses", "2", "--expires", "7d")
    (secret,) = made.out.splitlines()
    assert "lets 2 members join web as monitor until" in made.err
    ask(home, lambda fleet: fleet.join("web", "eve", secret))
    shown = json.loads(cli("team", "show", "web", "--json").out)
    assert [(it["handle"], it["role"]) for it in shown["members"]] == [("eve", "monitor")]
    (invite,) = shown["invites"]
    assert (invite["uses"], "secret_hash" in invite) == (1, False)
    assert cli("team", "withdraw", invite["id"]).code == 0
    assert json.loads(cli("team", "show", "web", "--json").out)["invites"] == []


def test_keys_are_rotated(cli: Cli, home: Path) -> None:
    text = cli("token", "create", "web", "ann").out.strip()
    first = json.loads(cli("token", "rotate", "--json").out)["key"]
    assert first in (home / "keys" / "tokens.keys").read_text()
    assert str(ask(home, lambda fleet: fleet.with_token(text)).actor) == "ann@web"


def test_tasks_are_added_edited_and_listed_by_team(cli: Cli) -> None:
    mine = cli("add", "Mine", "-q").out.strip()
    theirs = cli("add", "Theirs", "--team", "web", "-q").out.strip()
    assert theirs in (listed := cli("list", "--team", "web").out)
    assert mine not in listed
    assert cli("edit", mine, "--team", "web").code == 0
    assert cli("edit", theirs, "--team", "").code == 0
    listed = cli("list", "--team", "web").out
    assert (mine in listed, theirs in listed) == (True, False)
    for refused in (cli("list", "--team", "wbe"), cli("add", "Lost", "--team", "wbe")):
        assert (refused.code, "did you mean web" in refused.err) == (3, True)


def test_a_workflow_is_started_for_a_team(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "ship.yaml"
    file.write_text("name: ship\nprompt: Go\nstages:\n  - {name: a, prompt: A}\n")
    assert cli("workflow", "run", str(file), "--team", "web", "--detach").code == 0
    assert json.loads(cli("list", "--team", "web", "--json").out)[0]["team"] == "web"


def test_an_alert_is_shown_with_the_command_that_settles_it(cli: Cli, home: Path) -> None:
    raised = ask(home, lambda fleet: fleet.alert("The disk is full"))
    shown = cli("inbox").out
    assert "human: The disk is full" in shown
    assert f"-> fleet inbox --settle {raised.id}" in shown
    assert cli("inbox", "--settle", raised.id).code == 0
    assert cli("inbox").out == ""


def test_teams_are_listed_shown_and_removed(cli: Cli) -> None:
    assert cli("team", "create", "web").code == 2
    assert cli("team", "create", "ops").code == 0
    assert cli("team", "list").out.split() == ["TEAM", "REPOS", "ops", "all", "web", "shop"]
    assert "web  repos: shop" in cli("team", "show", "web").out
    assert cli("team", "show", "nope").code == 3
    assert cli("team", "remove", "ops").code == 0
    assert [it["name"] for it in json.loads(cli("team", "list", "--json").out)] == ["web"]


def test_a_team_is_shown_with_its_members_and_its_workers(cli: Cli, home: Path) -> None:
    assert "nobody is in web yet" in cli("teams", "web").err
    cli("token", "create", "web", "ann", "--role", "team-lead")
    ask(home, lambda fleet: fleet.spawn("scout", "Look around", team="web"))
    ask(home, lambda fleet: fleet.spawn("loner", "Look around"))
    shown = cli("teams", "web").out.splitlines()
    assert [line.split()[:2] for line in shown[1:]] == [["ann", "team-lead"], ["scout", "worker"]]
    told = json.loads(cli("teams", "web", "--json").out)
    assert [(each["handle"], each["state"]) for each in told] == [
        ("ann", None),
        ("scout", "starting"),
    ]
    assert all(len(each["uid"]) == 24 for each in told)
    assert cli("teams", "nosuch").code == 3


def test_the_tasks_of_a_team_are_shown_finished_ones_too(cli: Cli, home: Path) -> None:
    task = ask(home, lambda fleet: fleet.spawn("scout", "Look around", team="web"))
    ask(home, lambda fleet: fleet.spawn("loner", "Elsewhere"))
    ask(home, lambda fleet: fleet.dismiss("scout"))
    shown = cli("tasks", "web").out
    assert task.id in shown
    assert "cancelled" in shown
    assert "Elsewhere" not in shown
    assert [each["id"] for each in json.loads(cli("tasks", "web", "--json").out)] == [task.id]
    assert cli("tasks", "nosuch").code == 3
