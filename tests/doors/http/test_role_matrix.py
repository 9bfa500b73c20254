"""Every role at every operation: refused with 403 and the core's sentence, or not at all."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2
import pytest

from codefleet.api.operation import Operation
from codefleet.api.table import BY_NAME, OPERATIONS
from codefleet.domain.access import Right, allowed
from codefleet.domain.events import OUTPUT
from codefleet.domain.model import Draft
from codefleet.domain.words import Role
from codefleet.fleet import Fleet
from codefleet.runner.repos import register
from codefleet.wiring import open_fleet
from tests.doors.http.conftest import API, BOUND_S, Served, serving
from tests.doors.http.role_cells import CELLS, NO_OPERATION, VARIANTS, Cell
from tests.doors.http.test_streams import ask, events, socket
from tests.gitrepo import make_repo
from tests.stories.teams import Work, fill


class Member(NamedTuple):
    """Somebody with a token, and the nouns of the team: each role has a team of its own."""

    role: Role
    token: str
    names: dict[str, str]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def filled(self, said: Any) -> Any:
        """The same request with the names of this team's nouns in it."""
        if isinstance(said, dict):
            return {name: self.filled(value) for name, value in said.items()}
        if isinstance(said, list):
            return [self.filled(value) for value in said]
        return self.names[said[1:]] if isinstance(said, str) and said[:1] == "$" else said


class Matrix(NamedTuple):
    """A served fleet with a member of each role."""

    served: Served
    home: Path
    members: dict[Role, Member]

    def seq(self) -> int:
        """The number of the last event in the log."""
        url = f"{self.served.url}{API}/events/last"
        return int(httpx2.get(url, headers=self.served.owner).json())


@contextmanager
def matrix_in(folder: Path) -> Iterator[Matrix]:
    members = asyncio.run(_members(folder))
    with serving(folder / "home") as served:
        yield Matrix(served, folder / "home", members)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with matrix_in(tmp_path_factory.mktemp("matrix")) as made:
        yield made


async def _members(folder: Path) -> dict[Role, Member]:
    shop = make_repo(folder / "shop", {"README.md": "A shop.\n"})
    async with open_fleet(folder / "home", create=True) as fleet:
        await register(fleet, shop.path)
        members = {role: await _member(fleet, role, folder) for role in Role}
        await fleet.pause()
    return members


async def _member(fleet: Fleet, role: Role, folder: Path) -> Member:
    work = await fill(fleet, role)
    places = {"team": role, "folder": str(folder), "shop": str(folder / "shop")}
    token = await fleet.create_token(role, "bob", role)
    return Member(role, token.text, {**names_of(work), **places})


def names_of(work: Work) -> dict[str, str]:
    worker = work.running.handle
    assert worker
    talk = work.talk
    return {
        "task": work.running.id,
        "run": work.run.id,
        "flow": work.flow.id,
        "worker": worker,
        "swarm": talk.swarm.id,
        "post": talk.post.id,
        "mail": talk.mail.id,
        "checkpoint": talk.checkpoint.id,
    }


def requests() -> dict[str, tuple[Operation, Cell]]:
    """Every request of the matrix, by its name."""
    usual = {name: (BY_NAME[name], cell) for name, cell in CELLS.items()}
    return usual | {name: (BY_NAME[verb], cell) for name, (verb, cell) in VARIANTS.items()}


def sent(client: httpx2.Client, operation: Operation, said: dict[str, Any]) -> httpx2.Response:
    path = operation.path.format(
        **{name: quote(said.pop(name), safe="") for name in operation.in_path}
    )
    if operation.method == "GET":
        return client.request("GET", path, params=said)
    return client.request(
        operation.method, path, json=said[operation.body] if operation.body else said
    )


def problem_of(answer: httpx2.Response) -> str | None:
    """The sentence with which a request was refused, if it was."""
    is_problem = answer.headers.get("content-type") == "application/problem+json"
    return str(answer.json()["detail"]) if is_problem else None


@contextmanager
def client_of(matrix: Matrix, member: Member) -> Iterator[httpx2.Client]:
    url = matrix.served.url + API
    with httpx2.Client(base_url=url, headers=member.headers, timeout=BOUND_S) as client:
        yield client


def test_every_operation_has_a_row_in_the_matrix() -> None:
    assert CELLS.keys() == {operation.name for operation in OPERATIONS}


def test_every_right_is_asked_by_an_operation_or_needs_no_network() -> None:
    asked = {right for _, cell in requests().values() for right in cell.rights}
    assert asked | NO_OPERATION.keys() == {*Right}
    assert not asked & NO_OPERATION.keys()


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
def test_over_http_a_role_is_refused_what_the_table_denies_and_changes_nothing(
    matrix: Matrix, role: Role
) -> None:
    bob, before = matrix.members[role], matrix.seq()
    told = {}
    denied = {name: each for name, each in requests().items() if each[1].refusal(role)}
    with client_of(matrix, bob) as client:
        for name, (operation, cell) in denied.items():
            answer = sent(client, operation, bob.filled(dict(cell.said)))
            told[name] = (answer.status_code, problem_of(answer))
    assert told == {name: (403, cell.refusal(role)) for name, (_, cell) in denied.items()}
    assert matrix.seq() == before


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
def test_over_http_a_role_is_admitted_to_what_the_table_grants(matrix: Matrix, role: Role) -> None:
    bob = matrix.members[role]
    granted = {name: each for name, each in requests().items() if not each[1].refusal(role)}
    with client_of(matrix, bob) as client:
        told = {
            name: sent(client, operation, bob.filled(dict(cell.said))).status_code
            for name, (operation, cell) in granted.items()
        }
    assert {name for name, status in told.items() if status in (401, 403, 422, 500)} == set()


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
async def test_a_socket_shows_a_role_what_the_table_grants_and_takes_no_orders(
    matrix: Matrix, role: Role
) -> None:
    bob = matrix.members[role]
    marker = await _happens(matrix, role)
    async with socket(matrix.served, **bob.headers) as opened:
        for operation in OPERATIONS:
            refused = await ask(opened, type=operation.name, **bob.names)
            assert (refused["type"], refused["code"]) == ("error", "invalid"), operation.name
        await ask(opened, type="subscribe", after=0)
        seen = [json.loads(await opened.recv())["event"]]
        while seen[-1]["task"] != marker:
            seen.append(json.loads(await opened.recv())["event"])
    _assert_fits(seen, role)


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
async def test_a_stream_shows_a_role_what_the_table_grants(matrix: Matrix, role: Role) -> None:
    marker = await _happens(matrix, role)
    asked = {**matrix.members[role].headers, "Accept": "text/event-stream", "Last-Event-ID": "0"}
    seen: list[dict[str, Any]] = []
    async with (
        asyncio.timeout(BOUND_S),
        httpx2.AsyncClient(headers=asked, timeout=BOUND_S) as client,
        client.stream("GET", f"{matrix.served.url}{API}/events") as response,
    ):
        async for _, data in events(response):
            seen.append(json.loads(data))
            if seen[-1]["task"] == marker:
                break
    _assert_fits(seen, role)


async def _happens(matrix: Matrix, role: Role) -> str:
    """Something that every member of the team may see: a task is added for it."""
    async with open_fleet(matrix.home) as fleet:
        (task,) = await fleet.add([Draft(title="The last", team=role)])
    return task.id


def _assert_fits(seen: list[dict[str, Any]], role: Role) -> None:
    """These events are of this team only, and show output only to those who may read it."""
    kinds = {each["kind"] for each in seen}
    assert {"task.added", "team.notified", "swarm.created"} <= kinds
    assert bool(kinds & OUTPUT) == (role in allowed(Right.READ_OUTPUT).roles)
    teams = {each["data"]["team"] for each in seen if each["data"].get("team")}
    assert teams == {role}
