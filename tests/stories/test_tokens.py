"""Tokens prove who asks; the stored token decides whether that holds, and for which role."""

import asyncio
import base64
import json
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from codefleet.domain.access import OWNER, AgentOf, Holder
from codefleet.domain.errors import (
    BadConfig,
    Duplicate,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    TooManyGuesses,
    Unauthenticated,
)
from codefleet.domain.model import Draft, Invite, Member, Team, Token
from codefleet.domain.noun import Record
from codefleet.domain.words import Role
from codefleet.fleet import Fleet, jwt_text, key_files, signing_keys, teams
from codefleet.fleet.core import Core
from codefleet.fleet.team_tokens import Issued
from codefleet.fleet.tokens import owner_token, token_of
from codefleet.ports import TaskQuery, Write
from codefleet.store.nouns import KINDS
from codefleet.wiring import open_fleet
from tests.store.samples import StillClock
from tests.stories.teams import fill, member


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def fleet(home: Path, clock: StillClock) -> AsyncIterator[Fleet]:
    async with open_fleet(home, create=True, clock=clock) as fleet:
        await fleet.create_team("web")
        yield fleet


@pytest.fixture
async def ann(fleet: Fleet) -> Issued:
    return await fleet.create_token("web", "ann", Role.WORKER)


def forged(issued: Issued, key: str, **changes: Any) -> str:
    """The same token with other claims, signed with another key."""
    claims = jwt.decode(issued.text, options={"verify_signature": False})
    headers = {"kid": jwt.get_unverified_header(issued.text)["kid"]}
    return jwt.encode({**claims, **changes}, key, "HS256", headers=headers)


def unsigned(issued: Issued) -> str:
    """The same claims under the algorithm `none`."""

    def part(said: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"=").decode()

    kid = jwt.get_unverified_header(issued.text)["kid"]
    claims = jwt.decode(issued.text, options={"verify_signature": False})
    return f"{part({'alg': 'none', 'kid': kid})}.{part(claims)}."


async def is_valid(fleet: Fleet, text: str) -> bool:
    try:
        await fleet.with_token(text)
    except Unauthenticated:
        return False
    return True


async def test_a_token_stands_for_its_member(fleet: Fleet, ann: Issued) -> None:
    theirs = await fleet.with_token(f" {ann.text}\n")
    assert theirs.actor == Holder(token=ann.token.id, handle="ann", team="web", role=Role.WORKER)
    assert await theirs.check_token() == ann.token
    claims = jwt.decode(ann.text, options={"verify_signature": False})
    assert (claims["jti"], claims["sub"], claims["team"], claims["role"]) == (
        *(ann.token.id, "ann", "web"),
        "worker",
    )
    assert claims["exp"] - claims["iat"] == timedelta(hours=24).total_seconds()


async def test_the_text_of_a_token_and_the_secret_of_an_invite_are_nowhere_in_the_store(
    fleet: Fleet, ann: Issued
) -> None:
    _, secret = await fleet.invite("web", Role.WORKER)
    joined = await fleet.join("web", "bob", secret)
    kept = [text async for _, text in fleet.core.store.export(moving=True)]
    for hidden in (ann.text, secret, joined.text, ann.text.rpartition(".")[2]):
        assert not [text for text in kept if hidden in text]


async def test_a_forged_token_is_refused(fleet: Fleet, ann: Issued) -> None:
    assert not await is_valid(fleet, forged(ann, "x" * 64))
    assert not await is_valid(fleet, unsigned(ann))
    assert (Unauthenticated.status, Unauthenticated.code) == (401, "unauthenticated")
    head, claims, signature = ann.text.split(".")
    for text in (
        f"{head}.{claims}.",
        f"{head}..{signature}",
        "..",
        "",
        "a.b.c",
        "é.é.é",
        "x" * 9999,
    ):
        assert not await is_valid(fleet, text)


async def test_another_algorithm_is_refused_even_with_our_key(
    fleet: Fleet, home: Path, ann: Issued
) -> None:
    (key,) = signing_keys.signing_keys(home)
    claims = jwt.decode(ann.text, options={"verify_signature": False})
    other = jwt.encode(claims, key.secret, "HS512", headers={"kid": key.id})
    same = jwt.encode(claims, key.secret, "HS256", headers={"kid": key.id})
    assert not await is_valid(fleet, other)
    assert not await is_valid(fleet, jwt.encode(claims, key.secret, "HS256"))
    assert await is_valid(fleet, same)


async def test_a_signed_token_that_was_never_stored_is_refused(
    fleet: Fleet, home: Path, ann: Issued
) -> None:
    (key,) = signing_keys.signing_keys(home)
    assert not await is_valid(fleet, forged(ann, key.secret, jti="t-unknown"))


async def test_a_token_is_valid_until_it_expires(
    fleet: Fleet, clock: StillClock, ann: Issued
) -> None:
    theirs = await fleet.with_token(ann.text)
    clock.advance(hours=24, seconds=-1)
    assert await is_valid(fleet, ann.text)
    clock.advance(seconds=1)
    assert not await is_valid(fleet, ann.text)
    with pytest.raises(Unauthenticated, match="has expired"):
        await theirs.check_token()


async def test_the_lifetime_of_a_token_comes_from_the_settings_or_the_caller(
    fleet: Fleet, home: Path, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = await fleet.create_token("web", "ann", Role.WORKER, ttl=timedelta(minutes=5))
    assert brief.token.expires_at == clock.now() + timedelta(minutes=5)
    monkeypatch.setenv("JWT_EXPIRES_IN", "7d")
    async with open_fleet(home, clock=clock) as again:
        long = await again.create_token("web", "ann", Role.WORKER)
    assert long.token.expires_at == clock.now() + timedelta(days=7)
    monkeypatch.setenv("JWT_EXPIRES_IN", "soon")
    with pytest.raises(BadConfig, match="should be a duration such as 30m"):
        async with open_fleet(home, clock=clock):
            pass


async def test_a_revoked_token_is_refused_and_streams_hear_of_it(fleet: Fleet, ann: Issued) -> None:
    theirs = await fleet.with_token(ann.text)
    stream = theirs.follow(after=await fleet.last_seq())
    await fleet.revoke_token(ann.token.id)
    async with asyncio.timeout(30):
        told = await anext(stream)
    assert (told.kind, told.data["token"]) == ("token.revoked", ann.token.id)
    with pytest.raises(Unauthenticated, match="was revoked"):
        await theirs.check_token()
    assert not await is_valid(fleet, ann.text)
    with pytest.raises(Refused, match="revoked already"):
        await fleet.revoke_token(ann.token.id)


async def test_a_member_may_revoke_its_own_token_and_no_other(fleet: Fleet, ann: Issued) -> None:
    bob = await fleet.create_token("web", "bob", Role.TEAM_LEAD)
    theirs = await fleet.with_token(ann.text)
    with pytest.raises(Forbidden, match="may not manage teams"):
        await theirs.revoke_token(bob.token.id)
    await theirs.revoke_token(ann.token.id)
    assert (await is_valid(fleet, ann.text), await is_valid(fleet, bob.text)) == (False, True)


async def test_a_stolen_key_forges_no_token(fleet: Fleet, home: Path, ann: Issued) -> None:
    (key,) = signing_keys.signing_keys(home)
    claims = jwt.decode(ann.text, options={"verify_signature": False})
    for said in ({"role": "team-lead"}, {"team": "ops", "sub": "eve"}, {"exp": 2**40}):
        assert not await is_valid(fleet, forged(ann, key.secret, **said))
    elsewhere = jwt.encode(claims, "x" * 64, "HS256", headers={"kid": "another"})
    assert not await is_valid(fleet, elsewhere)


async def test_a_text_that_nests_too_deep_is_refused_like_any_other(fleet: Fleet) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 2900).decode().rstrip("=")
    for text in (f"{deep}.e30.x", f"e30.{deep}.x"):
        assert not await is_valid(fleet, text)


async def test_a_token_of_one_machine_is_valid_on_another_with_keys_of_its_own(
    fleet: Fleet, home: Path, tmp_path: Path, ann: Issued
) -> None:
    other = Fleet(Core(fleet.core.whole_store, fleet.config, tmp_path / "other", fleet.core.checks))
    assert (await other.with_token(ann.text)).actor == (await fleet.with_token(ann.text)).actor
    bob = await other.create_token("web", "bob", Role.MERGER)
    assert await is_valid(fleet, bob.text)
    assert signing_keys.signing_keys(home) != signing_keys.signing_keys(tmp_path / "other")
    await fleet.rotate_keys()
    await fleet.rotate_keys()
    assert (await is_valid(other, ann.text), await is_valid(other, bob.text)) == (False, True)


async def test_a_changed_role_holds_from_then_on(fleet: Fleet, ann: Issued) -> None:
    less = ann.token.evolve(role=Role.NOTIFIER, version=ann.token.version + 1)
    await fleet.core.write(Write(records=[less]))
    theirs = await fleet.with_token(ann.text)
    with pytest.raises(Forbidden, match="the role of this token is notifier"):
        await theirs.send("x", "Hello")


async def test_no_token_of_a_member_keeps_a_role_that_was_replaced(
    fleet: Fleet, ann: Issued
) -> None:
    lead = await fleet.create_token("web", "bob", Role.TEAM_LEAD)
    before = await fleet.last_seq()
    worker = await fleet.create_token("web", "bob", Role.WORKER)
    second = await fleet.create_token("web", "bob", Role.WORKER)
    texts = (lead.text, worker.text, second.text, ann.text)
    assert [await is_valid(fleet, text) for text in texts] == [False, True, True, True]
    (told,) = await fleet.events(after=before, kinds=["token.revoked"])
    assert told.data["token"] == lead.token.id


async def test_an_invite_does_not_give_back_a_role_that_was_replaced(fleet: Fleet) -> None:
    _, secret = await fleet.invite("web", Role.TEAM_LEAD, uses=5)
    lead = await fleet.join("web", "bob", secret)
    await fleet.create_token("web", "bob", Role.WORKER)
    assert not await is_valid(fleet, lead.text)
    with pytest.raises(Duplicate, match="bob@web is taken"):
        await fleet.join("web", "bob", secret)


async def test_who_joins_again_while_its_role_is_replaced_has_only_the_new_role(
    fleet: Fleet,
) -> None:
    _, secret = await fleet.invite("web", Role.TEAM_LEAD, uses=9)
    await fleet.join("web", "bob", secret)
    demotion = fleet.create_token("web", "bob", Role.WORKER)
    joins = [fleet.join("web", "bob", secret) for _ in range(4)]
    await asyncio.gather(*joins[:2], demotion, *joins[2:], return_exceptions=True)
    roles = {token.role for token in await fleet.tokens("web") if not token.revoked_at}
    (bob,) = await fleet.members("web")
    assert roles == {bob.role}


async def test_tokens_survive_one_rotation_and_not_two(
    fleet: Fleet, home: Path, ann: Issued
) -> None:
    await fleet.rotate_keys()
    bob = await fleet.create_token("web", "bob", Role.WORKER)
    assert (await is_valid(fleet, ann.text), await is_valid(fleet, bob.text)) == (True, True)
    await fleet.rotate_keys()
    assert (await is_valid(fleet, ann.text), await is_valid(fleet, bob.text)) == (False, True)
    assert len(signing_keys.signing_keys(home)) == signing_keys.KEPT


async def test_a_rotation_that_is_cut_off_leaves_no_token_of_the_old_key_valid(
    fleet: Fleet, ann: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_cut_off(*_: object) -> None:
        raise OSError("no space left on device")

    await fleet.rotate_keys()
    monkeypatch.setattr(key_files, "replace", is_cut_off)
    with pytest.raises(OSError, match="no space"):
        await fleet.rotate_keys()
    assert not await is_valid(fleet, ann.text)


async def test_the_keys_are_only_for_the_owner_of_the_home(
    fleet: Fleet, home: Path, ann: Issued
) -> None:
    await fleet.rotate_keys()
    file = home / "keys" / "tokens.keys"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["tokens.keys"]
    file.write_text("short key\n")
    with pytest.raises(Refused, match="has no usable key"):
        await fleet.with_token(ann.text)


@pytest.mark.parametrize("name", ["JWT_SECRET", "FLEET_JWT_SECRET"])
async def test_a_secret_in_the_environment_replaces_the_keys(
    fleet: Fleet, tmp_path: Path, name: str, ann: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "s" * 32)
    assert not await is_valid(fleet, ann.text)
    bob = await fleet.create_token("web", "bob", Role.WORKER)
    assert jwt.decode(bob.text, "s" * 32, algorithms=["HS256"], options={"verify_exp": False})
    keys = signing_keys.signing_keys(tmp_path)
    assert jwt_text.token_named(bob.text, keys, only_these=True) == bob.token.id
    with pytest.raises(Refused, match="JWT_SECRET"):
        await fleet.rotate_keys()
    monkeypatch.setenv(name, "s" * 31)
    with pytest.raises(BadConfig, match="at least 32"):
        await fleet.create_token("web", "bob", Role.WORKER)


async def test_the_owners_token_and_that_of_a_run_are_known_too(fleet: Fleet, home: Path) -> None:
    assert not await is_valid(fleet, "")
    token = owner_token(home).decode()
    assert (await fleet.with_token(token)).actor == OWNER
    assert not await is_valid(fleet, token[:-1])
    await fleet.register("/src/shop", "main", None)
    work = await fill(fleet, "ops")
    text = token_of(work.run.id, home)
    assert (await fleet.with_token(text)).actor == AgentOf(run=work.run.id)
    assert not await is_valid(fleet, f"{work.run.id}:{'0' * 64}")
    assert await (await fleet.with_token(token)).check_token() is None


async def test_without_the_library_the_error_names_the_command(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(BadConfig) as missing:
        await fleet.create_token("web", "ann", Role.WORKER)
    assert missing.value.hint == "install it next to codefleet: pip install 'pyjwt>=2.10'"


async def test_an_invite_admits_as_many_as_it_says_with_its_role(
    fleet: Fleet, clock: StillClock
) -> None:
    invite, secret = await fleet.invite("web", Role.MONITOR, uses=2)
    for handle in ("eve", "bob"):
        joined = await fleet.join("web", handle, secret)
        actor = (await fleet.with_token(joined.text)).actor
        assert (str(actor), joined.token.role) == (f"{handle}@web", Role.MONITOR)
    with pytest.raises(Unauthenticated, match="admits nobody"):
        await fleet.join("web", "mal", secret)
    assert [(each.handle, each.role) for each in await fleet.members("web")] == [
        ("bob", "monitor"),
        ("eve", "monitor"),
    ]
    joins = [event for event in await fleet.events() if event.kind == "team.joined"]
    assert [event.by for event in joins] == ["eve@web", "bob@web"]
    assert await fleet.invites("web") == []
    assert len(invite.secret_hash) == 64


async def test_of_many_who_join_at_once_only_as_many_as_allowed_get_in(fleet: Fleet) -> None:
    _, secret = await fleet.invite("web", Role.WORKER, uses=3)
    joins = [fleet.join("web", f"m{number}", secret) for number in range(8)]
    results = await asyncio.gather(*joins, return_exceptions=True)
    assert len([it for it in results if isinstance(it, Issued)]) == 3
    assert len(await fleet.members("web")) == 3


async def test_without_a_valid_secret_nobody_joins(fleet: Fleet, clock: StillClock) -> None:
    await fleet.create_team("ops")
    invite, secret = await fleet.invite("web", Role.TEAM_LEAD, ttl=timedelta(hours=1))
    for team, given in (("web", ""), ("web", secret[:-1]), ("ops", secret), ("nope", secret)):
        with pytest.raises(Unauthenticated, match="admits nobody"):
            await fleet.join(team, "mal", given)
    with pytest.raises(Unauthenticated):
        await fleet.join("web", "mal", invite.secret_hash)
    clock.advance(hours=1)
    with pytest.raises(Unauthenticated):
        await fleet.join("web", "mal", secret)
    assert await fleet.members("web") == await fleet.members("ops") == []


async def test_a_withdrawn_invite_admits_nobody(fleet: Fleet) -> None:
    invite, secret = await fleet.invite("web", Role.WORKER)
    await fleet.withdraw_invite(invite.id)
    with pytest.raises(Unauthenticated):
        await fleet.join("web", "mal", secret)
    with pytest.raises(NotFound):
        await fleet.withdraw_invite(invite.id)


async def test_a_handle_is_taken_by_whoever_joined_first(fleet: Fleet, ann: Issued) -> None:
    _, secret = await fleet.invite("web", Role.WORKER, uses=5)
    with pytest.raises(Duplicate, match="ann@web is taken"):
        await fleet.join("web", "ann", secret)
    first = await fleet.join("web", "bob", secret)
    again = await fleet.join("web", "bob", secret)
    assert first.token.id != again.token.id
    _, other = await fleet.invite("web", Role.TEAM_LEAD)
    with pytest.raises(Duplicate, match="bob@web is taken"):
        await fleet.join("web", "bob", other)


async def test_what_would_expire_at_once_is_refused(fleet: Fleet) -> None:
    for never in (timedelta(), timedelta(seconds=-1)):
        with pytest.raises(Invalid, match="expire at once"):
            await fleet.create_token("web", "ann", Role.WORKER, ttl=never)
        with pytest.raises(Invalid, match="expire at once"):
            await fleet.invite("web", Role.WORKER, ttl=never)
    assert (await fleet.tokens(), await fleet.invites("web")) == ([], [])


async def test_guesses_are_slowed_down(fleet: Fleet, clock: StillClock) -> None:
    _, secret = await fleet.invite("web", Role.WORKER, uses=2)
    for number in range(10):
        with pytest.raises(Unauthenticated, match="admits nobody"):
            await fleet.join("web", "mal", f"guess {number}")
    with pytest.raises(TooManyGuesses, match="10 wrong secrets"):
        await fleet.join("web", "bob", secret)
    clock.advance(minutes=1)
    assert (await fleet.join("web", "bob", secret)).token.handle == "bob"


@pytest.mark.parametrize("name", ["", "a b", "x" * 51, "../up", "ann\n", "ä", "a@b"])
async def test_names_that_could_be_misread_are_refused(fleet: Fleet, name: str) -> None:
    _, secret = await fleet.invite("web", Role.WORKER)
    with pytest.raises(Invalid, match="1 to 50 letters, digits, - or _"):
        await fleet.create_team(name)
    with pytest.raises(Invalid, match="1 to 50 letters, digits, - or _"):
        await fleet.create_token("web", name, Role.WORKER)
    with pytest.raises(Invalid, match="1 to 50 letters, digits, - or _"):
        await fleet.join("web", name, secret)


async def test_the_uid_of_a_member_is_that_of_claude_fleet(fleet: Fleet, ann: Issued) -> None:
    (member_,) = await fleet.members("web")
    assert member_.uid == "ac085e058fc89a8e399dcb22"


async def test_a_removed_team_takes_its_tokens_along(fleet: Fleet, ann: Issued) -> None:
    await fleet.register("/src/shop", "main", None)
    (task,) = await member(fleet, "web").add([Draft(title="Last")])
    with pytest.raises(Refused, match=f"{task.id} is pending"):
        await fleet.remove_team("web")
    await fleet.cancel(task.id)
    await fleet.remove_team("web")
    assert not await is_valid(fleet, ann.text)
    assert await fleet.teams() == []
    assert [token.revoked_at is not None for token in await fleet.core.store.records(Token)] == [
        True
    ]


async def test_a_new_team_cannot_inherit_what_a_removed_one_left(fleet: Fleet) -> None:
    await fleet.register("/src/shop", "main", None)
    leavings: dict[str, Callable[[Fleet], Awaitable[object]]] = {
        "task": lambda lead: lead.add([Draft(title="Old")]),
        "memory": lambda lead: lead.remember("db", "on port 5433"),
        "mail": lambda lead: lead.send_mail("desk", "Hello"),
        "swarm": lambda lead: lead.create_swarm("hive"),
        "token": lambda _: fleet.create_token("token", "ann", Role.WORKER),
    }
    for name, leave in leavings.items():
        await fleet.create_team(name)
        await leave(member(fleet, name))
        for task in await fleet.list(TaskQuery(team=name)):
            await fleet.cancel(task.id)
        await fleet.remove_team(name)
        with pytest.raises(Duplicate, match=f"a team {name} was removed") as refused:
            await fleet.create_team(name)
        assert "another name" in str(refused.value.hint)


async def test_a_team_that_left_nothing_can_be_created_again(fleet: Fleet) -> None:
    await fleet.remove_team("web")
    assert (await fleet.create_team("web")).name == "web"


def test_everything_that_a_removed_team_leaves_is_looked_for() -> None:
    named = {kind.noun for kind in KINDS if kind.team_in and issubclass(kind.noun, Record)}
    assert {*teams.LEFT_BEHIND} == named - {Team, Member, Invite}


async def test_a_team_uses_only_its_repositories(fleet: Fleet) -> None:
    await fleet.register("/src/shop", "main", None)
    await fleet.register("/src/bank", "main", None)
    await fleet.create_team("tills", ["shop"])
    with pytest.raises(Invalid, match="no repository nope"):
        await fleet.create_team("lost", ["nope"])
    lead = member(fleet, "tills")
    assert [repo.name for repo in await lead.repos()] == ["shop"]
    (task,) = await lead.add([Draft(title="Count")])
    assert (task.repo, task.team) == ("shop", "tills")
    with pytest.raises(NotFound, match="no repository bank"):
        await lead.add([Draft(title="Rob", repo="bank")])
    with pytest.raises(Refused, match="the team tills may not use bank"):
        await fleet.add([Draft(title="Rob", repo="bank", team="tills")])


async def test_a_human_gives_a_task_to_a_team_and_takes_it_back(fleet: Fleet) -> None:
    await fleet.register("/src/shop", "main", None)
    await fleet.create_team("ops")
    (first,) = await fleet.add([Draft(title="First")])
    assert (await fleet.edit(first.id, team="web")).team == "web"
    assert (await member(fleet, "web").get(first.id)).title == "First"
    assert (await fleet.edit(first.id, team=None)).team is None
    with pytest.raises(NotFound, match="no team nope"):
        await fleet.edit(first.id, team="nope")
    with pytest.raises(Invalid, match="cannot need"):
        await fleet.add([Draft(title="Second", team="web", needs=(first.id,))])
    (third,) = await fleet.add([Draft(title="Third", needs=(first.id,))])
    with pytest.raises(Invalid, match="cannot need"):
        await fleet.edit(third.id, team="ops")
    await fleet.edit(first.id, team="ops")
    assert (await fleet.edit(third.id, team="ops")).team == "ops"
    with pytest.raises(Refused, match="needs"):
        await fleet.edit(first.id, team="web")


async def test_work_that_belongs_together_stays_in_one_team(fleet: Fleet) -> None:
    await fleet.register("/src/shop", "main", None)
    work = await fill(fleet, "ops")
    with pytest.raises(Refused, match="is running"):
        await fleet.edit(work.running.id, team="web")
    with pytest.raises(Refused, match="stay in one team"):
        await fleet.edit(work.flow.tasks[0], team="web")
    stages = await fleet.workflow(work.flow.id)
    assert {task.team for task in stages.tasks} == {"ops"}
