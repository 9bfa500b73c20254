"""The description of the API: valid, and what the server really does."""

import httpx2
import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from codefleet.doors.http import openapi
from codefleet.fleet import Fleet
from tests.doors.http.conftest import Served
from tests.gitrepo import SampleRepo


def test_the_description_is_valid_openapi() -> None:
    sent = msgspec.json.encode(openapi.description("1.0"))
    validate(msgspec.json.decode(sent), cls=OpenAPIV31SpecValidator)


async def test_the_server_describes_itself_to_anybody(served: Served) -> None:
    told = httpx2.get(f"{served.url}/openapi.json")
    assert (told.status_code, told.headers["content-type"]) == (200, "application/json")
    assert told.json()["openapi"] == "3.1.0"


async def test_a_stream_is_refused_before_it_begins(owner: httpx2.AsyncClient) -> None:
    refused = await owner.get("/events/story", params={"task": "nosuch"})
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")


async def test_a_folder_that_is_no_repository_is_not_added(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    wrong = {".": 422, "/nosuch": 404, str(fleet.home): 422, "/a\0": 422}
    wrong |= {"/" + "x" * 300: 404, "/" + "x/" * 2500: 404}
    for path, status in wrong.items():
        assert (await owner.post("/repos", json={"path": path})).status_code == status, path
    assert [repo.name for repo in await fleet.repos()] == ["shop"]


@pytest.mark.parametrize("name", ["x" * 300, "x" * 3_999, "x" * 200_000, "a\0b"])
async def test_a_name_that_git_cannot_take_is_refused_in_words(
    owner: httpx2.AsyncClient, fleet: Fleet, repo: SampleRepo, name: str
) -> None:
    for path, body in (
        ("/repos", {"path": str(repo.path), "trunk": name}),
        ("/tasks", [{"title": "Greet", "base": name}]),
    ):
        refused = await owner.post(path, json=body)
        assert refused.status_code == 422, refused.text
        assert len(refused.text) < 2000, path
