"""Every verb over HTTP: what it takes, what it answers, and how it refuses."""

import asyncio
from pathlib import Path

import httpx2

from codefleet.api.table import OPERATIONS
from codefleet.domain.model import Draft, Task
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from tests.doors.http.conftest import API, Served, serving
from tests.script import script


async def add(owner: httpx2.AsyncClient, *titles: str, **headers: str) -> list[Task]:
    drafts = [{"title": title} for title in titles]
    added = await owner.post("/tasks", json=drafts, headers=headers)
    assert added.status_code == 201, added.text
    return [Task.from_json(httpx2.Response(200, json=each).content) for each in added.json()]


async def test_a_task_that_was_added_is_read_back_as_the_same_noun(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    (task,) = await add(owner, "Greet")
    assert Task.from_json((await owner.get(f"/tasks/{task.id}")).content) == await fleet.get(
        task.id
    )


async def test_the_log_names_the_token_that_asked(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    (task,) = await add(owner, "Greet")
    assert [event.by for event in await fleet.events(task=task.id)] == ["owner"]


async def test_times_may_be_relative_as_at_every_door(owner: httpx2.AsyncClient) -> None:
    added = await owner.post("/tasks", json=[{"title": "Later", "not_before": "+2h"}])
    assert added.json()[0]["not_before"] > added.json()[0]["created_at"]
    assert (await owner.get("/costs?since=-7d")).json() == []


BAD: tuple[tuple[object, str], ...] = (
    ([{"titel": "x"}], "entry 1: unknown field `titel`"),
    ([{"title": "x", "priority": 9}], "entry 1 (x): priority: should be a whole number"),
    ({"title": "x"}, "drafts: should be a list, not a table"),
    ([], "there is nothing to add"),
)


async def test_a_bad_draft_is_refused_in_the_words_of_the_core(owner: httpx2.AsyncClient) -> None:
    for sent, detail in BAD:
        refused = await owner.post("/tasks", json=sent)
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        problem = refused.json()
        assert problem["detail"].startswith(detail)
        assert problem["code"] == "invalid"
        assert problem["type"] == "urn:codefleet:invalid"
        assert problem["hint"]


async def test_what_does_not_exist_is_404_with_a_hint(owner: httpx2.AsyncClient) -> None:
    refused = await owner.get("/tasks/nosuch")
    assert (refused.status_code, refused.json()["detail"]) == (404, "no task nosuch")
    unknown = await owner.get("/nosuch")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert (await owner.delete("/tasks")).status_code == 405


async def test_a_request_that_is_repeated_with_its_key_creates_nothing_twice(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    first, again = [await add(owner, "a", "b", **{"Idempotency-Key": "one"}) for _ in range(2)]
    assert [task.id for task in again] == [task.id for task in first]
    other = await owner.post("/tasks", json=[{"title": "c"}], headers={"Idempotency-Key": "one"})
    assert (other.status_code, other.json()["detail"]) == (
        422,
        "this key was used for another request",
    )
    await add(owner, "a", "b", **{"Idempotency-Key": "two"})
    assert len(await fleet.list(TaskQuery())) == 4


async def test_of_many_at_once_with_one_key_only_one_creates_something(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    key = {"Idempotency-Key": "storm"}
    answers = await asyncio.gather(*(add(owner, "only", **key) for _ in range(20)))
    assert len({task.id for (task,) in answers}) == 1
    assert len(await fleet.list(TaskQuery())) == 1


async def test_of_many_at_once_with_one_key_all_learn_of_the_worker_that_one_spawned(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    key, said = {"Idempotency-Key": "storm"}, {"handle": "scout", "prompt": "x"}
    spawn = [owner.post("/workers", json=said, headers=key) for _ in range(30)]
    answers = await asyncio.gather(*spawn)
    assert {(told.status_code, told.text) for told in answers} == {(201, answers[0].text)}


async def test_a_change_to_what_somebody_else_changed_is_refused(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    (task,) = await add(owner, "Greet")
    tag = (await owner.get(f"/tasks/{task.id}")).headers["etag"]
    await fleet.edit(task.id, priority=5)
    refused = await owner.patch(
        f"/tasks/{task.id}", json={"priority": 1}, headers={"If-Match": tag}
    )
    assert (refused.status_code, refused.json()["code"]) == (412, "outdated")
    assert (await fleet.get(task.id)).priority == 5
    now = (await owner.get(f"/tasks/{task.id}")).headers["etag"]
    done = await owner.patch(f"/tasks/{task.id}", json={"priority": 1}, headers={"If-Match": now})
    assert (done.status_code, done.json()["priority"]) == (200, 1)


async def test_a_version_is_refused_where_it_is_not_compared(
    served: Served, owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    swarm = await fleet.create_swarm("hive")
    task = await fleet.spawn("scout", "Look", swarm=swarm.id)
    before = await fleet.last_seq()
    for method, path, body in (
        ("POST", f"/swarms/{swarm.id}/kill", {}),
        ("POST", f"/tasks/{task.id}/messages", {"text": "Hi"}),
        ("POST", "/tasks", [{"title": "More"}]),
        ("GET", f"/tasks/{task.id}", None),
        ("GET", f"/tasks/watch?refs={task.id}", None),
        ("PATCH", f"{served.url}/tasks/{task.id}", {"status": "blocked"}),
    ):
        refused = await owner.request(method, path, json=body, headers={"If-Match": '"7"'})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid"), path
        assert "If-Match is only for requests that change one task" in refused.json()["detail"]
    assert await fleet.last_seq() == before
    described = {each.name for each in OPERATIONS if each.changes_a_task}
    assert described == {
        *("edit", "pause_task", "resume_task", "cancel", "retry", "answer", "land", "reject"),
        "dismiss",
    }
    path = f"/workers/{task.handle}"
    assert (await owner.delete(path, headers={"If-Match": '"7"'})).status_code == 412
    assert (await owner.delete(path, headers={"If-Match": '"0"'})).status_code == 200


async def test_a_long_list_is_read_in_pages(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    added = await fleet.add([Draft(title=f"Part {number}") for number in range(7)])
    found: list[str] = []
    cursor = None
    while True:
        query = {"limit": "3", **({"cursor": cursor} if cursor else {})}
        page = (await owner.get("/tasks", params=query)).json()
        found += [task["id"] for task in page["tasks"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == [task.id for task in added]
    assert (await owner.get("/tasks", params={"cursor": "rubbish"})).status_code == 422


async def test_a_list_in_a_query_is_a_repeated_name(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    one, two = await fleet.add([Draft(title="one"), Draft(title="two")])
    await fleet.cancel(two.id)
    found = await owner.get("/tasks", params=[("state", "pending"), ("state", "cancelled")])
    assert {task["id"] for task in found.json()["tasks"]} == {one.id, two.id}


async def test_humans_decide_over_http_as_anywhere(owner: httpx2.AsyncClient, fleet: Fleet) -> None:
    (task,) = await add(owner, "Greet")
    for verb, state in (("cancel", "cancelled"), ("retry", "pending")):
        moved = await owner.post(f"/tasks/{task.id}/{verb}", json={})
        assert (moved.status_code, moved.json()["state"]) == (200, state)
    assert (await owner.post(f"/tasks/{task.id}/pause")).json()["paused"]
    refused = await owner.post(f"/tasks/{task.id}/retry")
    assert (refused.status_code, refused.json()["code"]) == (409, "illegal_move")
    assert (await owner.post("/pause")).status_code == 204
    assert (await fleet.status()).paused


OF_A_TEAM = {name: {"name": "web", "team": "web"} for name in ("team", "members", "invites")}


async def test_everything_can_be_read_of_a_fleet_with_one_task(
    owner: httpx2.AsyncClient, fleet: Fleet
) -> None:
    (task,) = await fleet.add([Draft(title="Greet")])
    said = {"ref": task.id, "task": task.id, "name": "shop", "since": "2020-01-01", "seq": "0"}
    said |= {
        "ids": task.id,
        "title": "Greet",
        "query": "greet",
        "refs": task.id,
        "within": "0",
        "after": "0",
    }
    await fleet.create_team("web")
    said |= {"key": "db", "handle": "scout", "swarm": (await fleet.create_swarm("hive")).id}
    await fleet.spawn("scout", "Look")
    await fleet.remember("db", "on port 5433", handle="scout")
    not_there = {
        "swarm",
        "checkpoint",
        "workflow",
        "family_of",
        "collect_workflow",
        "diff",
        "run_log",
    }
    for operation in (each for each in OPERATIONS if each.method == "GET"):
        asked = {name: said[name] for name in operation.inputs.__struct_fields__ if name in said}
        path = operation.path.format(**said | OF_A_TEAM.get(operation.name, {}))
        answer = await owner.get(path, params=asked)
        expected = 404 if operation.name in not_there else 200
        assert answer.status_code == expected, f"{operation.name}: {answer.text}"


async def test_a_fleet_with_agents_works_what_is_added_over_http(home: Path, fleet: Fleet) -> None:
    with serving(home, "--agents=2") as server:
        async with httpx2.AsyncClient(base_url=server.url + API, headers=server.owner) as owner:
            draft = {"title": "Greet", "coder": "scripted", "prompt": script("write a.txt hi")}
            (task,) = (await owner.post("/tasks", json=[draft])).json()
            async with asyncio.timeout(60):
                while (found := (await owner.get(f"/tasks/{task['id']}")).json())["state"] != (
                    "completed"
                ):
                    await fleet.changed(await fleet.last_seq(), within=1)
            assert found["landed"]
            assert "+hi" in (await owner.get(f"/tasks/{task['id']}/diff")).text


async def test_a_body_that_is_too_large_or_not_json_is_refused(
    owner: httpx2.AsyncClient, served: Served
) -> None:
    text = {"Content-Type": "text/plain"}
    plain = await owner.post("/tasks", content=b'[{"title": "x"}]', headers=text)
    assert (plain.status_code, plain.json()["code"]) == (415, "unsupported_media_type")
    json = {"Content-Type": "application/json"}
    assert (await owner.post("/tasks", content=b"[{", headers=json)).status_code == 422
    large = b'[{"title": "x", "prompt": "%b"}]' % (b"y" * (17 << 20))
    assert (await owner.post("/tasks", content=large, headers=json)).status_code == 413
