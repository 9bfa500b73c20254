"""Who may do what: the whole table, written out."""

import pytest

from codefleet.domain import access
from codefleet.domain.access import HUMAN, OWNER, AgentOf, Holder, Reach, Right, RunnerOn
from codefleet.domain.errors import Forbidden
from codefleet.domain.model import RunId, TokenId
from codefleet.domain.words import Role

RIGHTS = """
                        team-lead  coordinator  worker  merger  monitor  notifier  owner  agent
see the status              x           x          -       -       x        x        x     all
read the output of others   x           x          -       -       x        -        x     related
add tasks                   x           x          -       -       -        -        x     new
spawn workers               x           x          -       -       -        -        x     new
manage swarms               x           x          -       -       -        -        x     -
talk to other agents        x           x          x       -       -        -        x     new
read what agents tell each other  x     x          x       -       x        -        x     all
commit a worktree           x           x          x       -       -        -        x     new
push a branch               x           x          -       x       -        -        x     -
start a workflow            x           x          -       -       -        -        x     new
assign                      x           x          -       -       -        -        x     below
edit                        x           x          -       -       -        -        x     -
pause                       x           x          -       -       -        -        x     -
resume                      x           x          -       -       -        -        x     -
cancel                      x           x          -       -       -        -        x     below
retry                       x           x          -       -       -        -        x     below
retry a workflow            x           x          -       -       -        -        x     -
clean up                    x           x          -       -       -        -        x     below
answer                      x           x          -       -       -        -        x     -
land                        x           x          -       x       -        -        x     -
reject                      x           x          -       x       -        -        x     -
send messages               x           x          x       -       -        -        x     -
send messages to all        x           x          -       -       -        -        x     -
raise an alert              -           -          -       -       x        -        x     -
notify                      -           -          -       -       -        x        x     -
choose the team of a task   -           -          -       -       -        -        x     -
manage teams                -           -          -       -       -        -        x     -
pause or resume the whole fleet  -      -          -       -       -        -        x     -
read the numbers of the whole fleet  -  -          -       -       -        -        x     -
wake an account             -           -          -       -       -        -        x     -
remove what is old          -           -          -       -       -        -        x     -
add a repository            -           -          -       -       -        -        x     -
move a repository           -           -          -       -       -        -        x     -
archive events              -           -          -       -       -        -        x     -
export a fleet              -           -          -       -       -        -        x     -
share a repository          -           -          -       -       -        -        -     -
run agents                  -           -          -       -       -        -        -     -
import a fleet              -           -          -       -       -        -        -     -
move or reset a fleet       -           -          -       -       -        -        -     -
rotate the keys of tokens   -           -          -       -       -        -        -     -
set up a fleet              -           -          -       -       -        -        -     -
change settings             -           -          -       -       -        -        x     -
"""
ROLES = (
    *(Role.TEAM_LEAD, Role.COORDINATOR, Role.WORKER),
    *(Role.MERGER, Role.MONITOR, Role.NOTIFIER),
)
AGENT = AgentOf(run=RunId("k3m9x2pa.1"))


def holder(role: Role) -> Holder:
    return Holder(token=TokenId("t1"), handle="ann", team="web", role=role)


def rows() -> list[tuple[Right, list[str]]]:
    found = [line.rsplit(maxsplit=8) for line in RIGHTS.strip().splitlines()[1:]]
    return [(Right(right), marks) for right, *marks in found]


def may(actor: access.Actor, right: Right) -> bool:
    try:
        access.refuse(actor, right)
    except Forbidden:
        return False
    return True


def test_every_right_is_in_the_table() -> None:
    assert [right for right, _ in rows()] == [*Right]


CELLS = [
    pytest.param(role, right, mark == "x", id=f"{role}-{right}")
    for right, marks in rows()
    for role, mark in zip(ROLES, marks[:6], strict=True)
]


def test_every_role_is_in_the_table() -> None:
    assert {*ROLES} == {*Role}


@pytest.mark.parametrize(("role", "right", "has"), CELLS)
def test_each_role_has_the_rights_of_the_table(role: Role, right: Right, has: bool) -> None:
    assert may(holder(role), right) == has


@pytest.mark.parametrize(("right", "marks"), rows())
def test_the_owner_has_the_rights_of_the_table(right: Right, marks: list[str]) -> None:
    assert may(OWNER, right) == (marks[6] == "x")


@pytest.mark.parametrize(("right", "marks"), rows())
def test_an_agent_has_the_rights_of_the_table(right: Right, marks: list[str]) -> None:
    reach = access.allowed(right).agents
    assert reach == (Reach(marks[7]) if marks[7] != "-" else None)
    assert may(AGENT, right) == (reach is not None)


@pytest.mark.parametrize("right", Right)
def test_the_local_human_and_the_runner_may_do_everything(right: Right) -> None:
    assert may(HUMAN, right)
    assert may(RunnerOn(host="lab"), right)


def test_a_refusal_names_the_role_and_those_that_may() -> None:
    with pytest.raises(Forbidden, match="ann@web may not land: the role of this") as refused:
        access.refuse(holder(Role.MONITOR), Right.LAND)
    assert refused.value.hint == "use a token with the role team-lead, coordinator, merger"
    with pytest.raises(Forbidden) as refused:
        access.refuse(holder(Role.TEAM_LEAD), Right.EXPORT)
    assert refused.value.hint == "only the fleet's owner may"
    assert (refused.value.status, refused.value.code) == (403, "forbidden")


@pytest.mark.parametrize("actor", [AGENT, holder(Role.TEAM_LEAD)])
def test_an_agent_and_a_member_can_act_only_as_themselves(actor: access.Actor) -> None:
    access.refuse_impersonation(actor, actor)
    others = (HUMAN, OWNER, AgentOf(run=RunId("k3m9x2pa.2")), RunnerOn(host="lab"))
    for other in (*others, holder(Role.COORDINATOR)):
        with pytest.raises(Forbidden, match="may not act as"):
            access.refuse_impersonation(actor, other)
        access.refuse_impersonation(HUMAN, other)


def test_the_state_of_the_machine_is_for_neither_members_nor_agents() -> None:
    for actor in (AGENT, holder(Role.TEAM_LEAD)):
        with pytest.raises(Forbidden, match="the state of the machine is for the fleet's owner"):
            access.refuse_members(actor)
    for other in (HUMAN, OWNER, RunnerOn(host="lab")):
        access.refuse_members(other)
