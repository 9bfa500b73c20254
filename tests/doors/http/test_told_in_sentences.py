"""What goes wrong on the way to a server is told in a sentence, with what to do in a shell."""

import asyncio
import socket

import httpx2
import pytest

from codefleet.domain.errors import Invalid, NotFound, Unauthenticated, WorkspaceTrouble
from codefleet.doors.network import listen
from tests.doors.conftest import Cli, program
from tests.doors.http.conftest import Served


@pytest.mark.parametrize("words", [("output", ""), ("dismiss", ""), ("show", "")])
async def test_an_empty_name_is_not_found(words: tuple[str, str], served: Served) -> None:
    told = await asyncio.to_thread(program, "--server", served.url, *words)
    assert (told.code, "is empty" in told.err) == (NotFound.exit_code, True), told.err


@pytest.mark.parametrize(
    ("path", "problem", "hint"),
    [
        ("/checkpoints?status=foo", "'foo' is none of pending, accepted", "use one of them"),
        ("/checkpoints?limit=-1", "at most 200 at once", "ask for 1 to 200"),
        ("/checkpoints?limit=201", "at most 200 at once", "ask for 1 to 200"),
        ("/memories/search?query=x&type=foo", "'foo' is none of fact", "use one of them"),
        ("/status?x=1", "unknown field `x`", "there are no fields: leave it out"),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused(
    owner: httpx2.AsyncClient, path: str, problem: str, hint: str
) -> None:
    refused = await owner.get(path)
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith(problem)
    assert refused.json()["hint"] == hint


async def test_a_wrong_token_is_told_to_a_shell(served: Served) -> None:
    env = {"FLEET_TOKEN": "wrong"}
    asked = await asyncio.to_thread(program, "--server", served.url, "list", env=env)
    login = await asyncio.to_thread(program, "login", served.url, stdin="wrong")
    for told in (asked, login):
        assert told.code == Unauthenticated.exit_code
        assert f"`fleet login {served.url}`" in told.err
        assert "Authorization" not in told.err


def test_a_token_of_several_lines_is_none() -> None:
    url = "http://127.0.0.1:1"
    asked = program("--server", url, "list", env={"FLEET_TOKEN": "a\nb"})
    login = program("login", url, stdin="a\nb")
    for told in (asked, login):
        assert (told.code, "this is no token" in told.err) == (Unauthenticated.exit_code, True)


NOWHERE = ["nonsense", "http://", "http://host:port", "ftp://host:21", "http://a b", "http://a\x00"]


@pytest.mark.parametrize("url", NOWHERE)
def test_what_is_no_address_is_refused(url: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_TOKEN", "token")
    told = cli("--server", url, "list")
    assert (told.code, "is not the address of a server" in told.err) == (Invalid.exit_code, True)


def test_a_password_in_an_address_is_refused_and_not_repeated(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_TOKEN", "token")
    told = cli("--server", "http://ann:hunter2@127.0.0.1:1", "list")
    assert (told.code, "hunter2" in told.err) == (Invalid.exit_code, False)


def test_the_doctor_knows_the_variables_of_a_server(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_TOKEN", "token")
    assert "FLEET_TOKEN" not in cli("doctor").out


def test_a_host_that_is_not_here_is_told_from_a_port_that_is_taken() -> None:
    for host in ("nowhere.invalid", "192.0.2.1"):
        with pytest.raises(WorkspaceTrouble) as wrong:
            listen(host, 0)
        assert "--host" in wrong.value.hint
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(WorkspaceTrouble) as wrong:
            listen(*taken.getsockname())
        assert "--port" in wrong.value.hint
