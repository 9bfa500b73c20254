"""Every role at every route of claude-fleet: the core decides there as anywhere else."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from codefleet.domain.access import Right
from codefleet.domain.words import Role
from codefleet.doors.http.claude_fleet.table import ROUTES
from tests.doors.http.conftest import BOUND_S
from tests.doors.http.role_cells import Cell, about
from tests.doors.http.test_role_matrix import Matrix, Member, matrix_in, problem_of, sent

WORKER = {"handle": "$worker"}
BOB = {"handle": "bob"}
STEPS = [{"key": "build", "name": "Build", "type": "task", "config": {"title": "Build"}}]
CELLS = {
    "GET /teams/{team}/agents": about(team="$team"),
    "GET /teams/{team}/tasks": about(team="$team"),
    "POST /teams/{team}/broadcast": about(Right.BROADCAST, team="$team", text="Mind"),
    "POST /tasks": about(Right.SPAWN, toHandle="scout", subject="Look around"),
    "GET /tasks/{ref}": about(ref="$task"),
    "PATCH /tasks/{ref}": about(Right.PAUSE, ref="$task", status="blocked"),
    "POST /orchestrate/spawn": about(Right.SPAWN, handle="spy", initialPrompt="Look"),
    "POST /orchestrate/dismiss/{handle}": about(Right.CANCEL, **WORKER),
    "GET /orchestrate/workers": about(),
    "POST /orchestrate/send/{handle}": about(Right.SEND, **WORKER, message="Mind"),
    "GET /orchestrate/output/{handle}": about(Right.READ_OUTPUT, **WORKER),
    "GET /orchestrate/worktree/{handle}/status": about(Right.READ_OUTPUT, **WORKER),
    "POST /orchestrate/worktree/{handle}/commit": about(Right.COMMIT, **WORKER, message="Done"),
    "POST /orchestrate/worktree/{handle}/push": about(Right.PUSH, **WORKER),
    "GET /swarms": about(),
    "POST /swarms": about(Right.SWARM, name="hive"),
    "GET /swarms/{ref}": about(ref="$swarm"),
    "POST /swarms/{ref}/kill": about(Right.SWARM, ref="$swarm"),
    "POST /blackboard": about(
        Right.TALK, swarmId="$swarm", senderHandle="bob", messageType="status", payload={}
    ),
    "POST /blackboard/mark-read": about(Right.LISTEN, messageIds=["$post"]),
    "POST /blackboard/archive": about(Right.SWARM, messageIds=["$post"]),
    "GET /blackboard/{swarm}": about(Right.LISTEN, swarm="$swarm"),
    "POST /blackboard/{swarm}/archive-old": about(Right.SWARM, swarm="$swarm"),
    "POST /checkpoints": about(Right.TALK, fromHandle="bob", goal="Goal", now="Now"),
    "GET /checkpoints/latest/{handle}": about(Right.LISTEN, handle="ann"),
    "GET /checkpoints/list/{handle}": about(Right.LISTEN, handle="ann"),
    "GET /checkpoints/{ref}": about(Right.LISTEN, ref="$checkpoint"),
    "POST /checkpoints/{ref}/accept": about(
        Right.LISTEN, Right.TALK, Right.SPAWN, ref="$checkpoint"
    ),
    "POST /checkpoints/{ref}/reject": about(Right.TALK, ref="$checkpoint"),
    "POST /mail": about(Right.TALK, **{"from": "bob"}, to="desk", body="Mind"),
    "GET /mail/{handle}": about(Right.LISTEN, **BOB),
    "GET /mail/{handle}/unread": about(Right.LISTEN, **BOB),
    "POST /mail/{ref}/read": about(Right.LISTEN, ref="$mail"),
    "POST /handoffs": about(Right.TALK, **{"from": "bob"}, to="desk", context={"done": "half"}),
    "GET /handoffs/{handle}": about(Right.LISTEN, **BOB),
    "POST /memory/store": about(Right.TALK, agentId="bob", key="db", value="on port 5433"),
    "POST /memory/search": about(Right.LISTEN, query="port"),
    "GET /memory/recall/{agent}/{key}": about(Right.LISTEN, agent="ann", key="db"),
    "GET /memory/{agent}": about(Right.LISTEN, agent="ann"),
    "POST /workflows": about(Right.START, name="ship", definition={"steps": STEPS}),
    "GET /workflows": about(),
    "GET /workflows/{ref}": about(ref="$flow"),
    "POST /workflows/{ref}/start": about(ref="$flow"),
    "POST /workflows/{ref}/cancel": about(Right.CANCEL, ref="$flow"),
    "GET /executions": about(),
    "GET /executions/{ref}": about(ref="$flow"),
    "GET /executions/{ref}/steps": about(ref="$flow"),
    "POST /executions/{ref}/cancel": about(Right.CANCEL, ref="$flow"),
}
BY_PLACE = {f"{route.method} {route.path}": route for route in ROUTES}


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with matrix_in(tmp_path_factory.mktemp("matrix")) as made:
        yield made


def answers(matrix: Matrix, bob: Member, cells: dict[str, Cell]) -> dict[str, tuple[int, Any]]:
    """What a member is told at each of these routes: the status, and the refusal."""
    url, told = matrix.served.url, {}
    with httpx2.Client(base_url=url, headers=bob.headers, timeout=BOUND_S) as client:
        for place, cell in cells.items():
            answer = sent(client, BY_PLACE[place], bob.filled(dict(cell.said)))
            told[place] = (answer.status_code, problem_of(answer))
    return told


def test_every_route_has_a_row_in_the_matrix() -> None:
    assert CELLS.keys() == BY_PLACE.keys()


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
def test_a_role_is_refused_what_the_table_denies_and_changes_nothing(
    matrix: Matrix, role: Role
) -> None:
    before = matrix.seq()
    denied = {place: cell for place, cell in CELLS.items() if cell.refusal(role)}
    told = answers(matrix, matrix.members[role], denied)
    assert told == {place: (403, cell.refusal(role)) for place, cell in denied.items()}
    assert matrix.seq() == before


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
def test_a_role_is_admitted_to_what_the_table_grants(matrix: Matrix, role: Role) -> None:
    granted = {place: cell for place, cell in CELLS.items() if not cell.refusal(role)}
    told = answers(matrix, matrix.members[role], granted)
    theirs = "bob may not speak for desk"
    assert told.pop("POST /mail/{ref}/read", (403, theirs))[1] in (theirs, None)
    refused = {place: it for place, it in told.items() if it[0] in (401, 403, 422, 500)}
    assert refused == {}
