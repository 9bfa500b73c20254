"""The routes of claude-fleet, with its payloads, over the same verbs as everything else."""

from collections.abc import AsyncIterator
from itertools import product
from typing import Any

import httpx2
import pytest

from codefleet.api.table import OPERATIONS, PREFIX
from codefleet.domain.words import Role
from codefleet.doors.http.claude_fleet.attempts import MOST, MOST_ADDRESSES, WITHIN_S, Attempts
from codefleet.doors.http.claude_fleet.table import ROUTES
from codefleet.fleet import Fleet
from tests.doors.http.conftest import BOUND_S, Served

pytestmark = pytest.mark.slow

Client = httpx2.AsyncClient


async def client(served: Served, token: str) -> Client:
    headers = {"Authorization": f"Bearer {token}"}
    return Client(base_url=served.url, headers=headers, timeout=BOUND_S)


@pytest.fixture
async def lead(served: Served, fleet: Fleet) -> AsyncIterator[Client]:
    """The team-lead ann of the team web."""
    await fleet.create_team("web")
    issued = await fleet.create_token("web", "ann", Role.TEAM_LEAD)
    async with await client(served, issued.text) as found:
        yield found


async def said(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_secret_admits_to_its_team_with_its_role_and_nothing_else_does(
    served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("web")
    _, secret = await fleet.invite("web", Role.WORKER)
    asked = {"handle": "bob", "teamName": "web", "agentType": "team-lead"}
    async with Client(base_url=served.url) as stranger:
        assert (await stranger.post("/auth", json=asked)).status_code == 422
        wrong = await stranger.post("/auth", json={**asked, "secret": "guess"})
        assert (wrong.status_code, wrong.json()["error"]) == (401, wrong.json()["detail"])
        got = await said(await stranger.post("/auth", json={**asked, "secret": secret}))
        again = await stranger.post("/auth", json={**asked, "handle": "eve", "secret": secret})
        assert again.status_code == 401
    assert (got["handle"], got["teamName"], got["agentType"]) == ("bob", "web", "worker")
    (member,) = await fleet.members("web")
    assert got["uid"] == member.uid
    async with await client(served, got["token"]) as bob:
        assert [each["handle"] for each in await said(await bob.get("/teams/web/agents"))] == [
            "bob"
        ]
        spawn = {"handle": "scout", "initialPrompt": "Look"}
        assert (await bob.post("/orchestrate/spawn", json=spawn)).status_code == 403


async def test_who_guesses_has_to_wait_and_cannot_pretend_to_be_elsewhere(
    served: Served, fleet: Fleet
) -> None:
    await fleet.create_team("web")
    _, secret = await fleet.invite("web", Role.WORKER)
    asked = {"handle": "eve", "teamName": "web"}
    async with Client(base_url=served.url) as stranger:
        for n in range(MOST):
            elsewhere = {"X-Forwarded-For": f"192.0.2.{n}"}
            wrong = {**asked, "secret": f"guess {n}"}
            assert (await stranger.post("/auth", json=wrong, headers=elsewhere)).status_code == 401
        late = await stranger.post("/auth", json={**asked, "secret": secret})
    assert (late.status_code, late.json()["code"]) == (429, "too_many_requests")
    assert 0 < int(late.headers["retry-after"]) <= WITHIN_S
    assert await fleet.members("web") == []


def test_wrong_secrets_are_forgotten_after_a_while_and_never_fill_the_memory() -> None:
    now = 0.0
    attempts = Attempts(lambda: now)
    for _ in range(MOST):
        attempts.count("2001:db8::1")
    assert attempts.wait("2001:db8::2") == WITHIN_S
    assert attempts.wait("2001:db8:0:1::1") == attempts.wait("192.0.2.1") == 0
    now = WITHIN_S - 0.5
    assert attempts.wait("2001:db8::1") == 1
    now = WITHIN_S
    assert attempts.wait("2001:db8::1") == 0
    for n in range(MOST_ADDRESSES + 10):
        attempts.count(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}")
    assert len(attempts._wrong) == MOST_ADDRESSES


async def test_no_route_answers_without_a_token(served: Served) -> None:
    wrong: tuple[dict[str, str], ...] = ({}, {"Authorization": "Bearer wrong"})
    async with Client(base_url=served.url) as stranger:
        for route, headers in product(ROUTES, wrong):
            path = route.path.replace("{", "").replace("}", "")
            refused = await stranger.request(route.method, path, headers=headers)
            assert (refused.status_code, "error" in refused.json()) == (401, True), route.path


def test_no_route_has_the_name_or_place_of_another() -> None:
    every = [*((PREFIX + each.path, each.method) for each in OPERATIONS)]
    every += [(each.path, each.method) for each in ROUTES]
    names = [each.name for each in (*OPERATIONS, *ROUTES)]
    assert (len({*every}), len({*names})) == (len(every), len(names))


async def test_a_task_is_given_to_a_handle_and_moved_by_its_status(
    lead: Client, fleet: Fleet
) -> None:
    asked = {"fromUid": "x" * 24, "toHandle": "scout", "teamName": "web", "subject": "Find it"}
    first = await said(await lead.post("/tasks", json={**asked, "description": "In src"}))
    assert (first["subject"], first["description"]) == ("Find it", "In src")
    assert (first["ownerHandle"], first["createdByHandle"]) == ("scout", "ann")
    assert (first["status"], first["teamName"], first["blockedBy"]) == ("open", "web", [])
    waits = {**asked, "toHandle": "mender", "subject": "Mend it", "blockedBy": [first["id"]]}
    second = await said(await lead.post("/tasks", json=waits))
    assert (second["status"], second["blockedBy"]) == ("blocked", [first["id"]])
    listed = await said(await lead.get("/teams/web/tasks"))
    assert [each["id"] for each in listed] == [second["id"], first["id"]]
    assert {each["createdByHandle"] for each in listed} == {"ann"}
    place = f"/tasks/{first['id']}"
    assert (await said(await lead.patch(place, json={"status": "blocked"})))["status"] == "blocked"
    assert (await fleet.get(first["id"])).paused
    assert (await said(await lead.patch(place, json={"status": "open"})))["status"] == "open"
    refused = await lead.patch(place, json={"status": "resolved"})
    assert (refused.status_code, "git and the checks" in refused.json()["error"]) == (409, True)
    assert (await lead.patch(place, json={"status": "done"})).status_code == 422
    assert await said(await lead.get(place)) == (await said(await lead.get("/teams/web/tasks")))[1]


async def test_more_work_for_a_handle_is_told_to_its_agent_once(lead: Client, fleet: Fleet) -> None:
    asked = {"toHandle": "scout", "subject": "Find it"}
    first = await said(await lead.post("/tasks", json=asked))
    more, key = {**asked, "subject": "And mend it"}, {"Idempotency-Key": "more"}
    for _ in range(2):
        told = await said(await lead.post("/tasks", json=more, headers=key))
        assert told["id"] == first["id"]
    details = await fleet.details(first["id"])
    assert [message.text for message in details.unread] == ["And mend it"]
    blocked = {**more, "blockedBy": [first["id"]]}
    assert (await lead.post("/tasks", json=blocked)).status_code == 409


async def test_a_team_is_nothing_to_another(served: Served, fleet: Fleet, lead: Client) -> None:
    await fleet.create_team("ops")
    other = await fleet.create_token("ops", "bob", Role.TEAM_LEAD)
    task = await said(await lead.post("/tasks", json={"toHandle": "scout", "subject": "Find"}))
    swarm = await said(await lead.post("/swarms", json={"name": "hive"}))
    paths = (
        *("/teams/web/agents", "/teams/web/tasks", f"/tasks/{task['id']}"),
        *("/orchestrate/output/scout", "/orchestrate/worktree/scout/status"),
        *(f"/swarms/{swarm['id']}", f"/blackboard/{swarm['id']}"),
    )
    async with await client(served, other.text) as bob:
        for path in paths:
            assert (await bob.get(path)).status_code == 404, path
        assert await said(await bob.get("/orchestrate/workers")) == []
        assert (await bob.post("/orchestrate/dismiss/scout")).status_code == 404
        sent = await bob.post("/teams/web/broadcast", json={"from": "me", "text": "Stop"})
        assert sent.status_code == 404
        given = {"toHandle": "spy", "subject": "Look", "teamName": "web"}
        assert (await bob.post("/tasks", json=given)).status_code == 404
    assert (await fleet.get(task["id"])).state == "pending"


async def test_a_worker_is_spawned_shown_and_dismissed(
    lead: Client, fleet: Fleet, served: Served
) -> None:
    (repo,) = await fleet.repos()
    asked = {"handle": "scout", "initialPrompt": "Look around", "spawnMode": "tmux"}
    where = {**asked, "workingDir": f"{repo.path}/src", "teamName": "web"}
    key = {"Idempotency-Key": "one"}
    made = await said(await lead.post("/orchestrate/spawn", json=where, headers=key))
    assert made == await said(await lead.post("/orchestrate/spawn", json=where, headers=key))
    assert (made["handle"], made["state"], made["spawnMode"]) == ("scout", "starting", "process")
    assert (made["depthLevel"], made["teamName"], made["health"]) == (1, "web", "healthy")
    assert [made] == await said(await lead.get("/orchestrate/workers"))
    assert (await lead.post("/orchestrate/spawn", json=asked)).status_code == 409
    for folder in ("/etc", "", "relative", "\0", repo.path + "-other"):
        odd = {**asked, "handle": "other", "workingDir": folder}
        assert (await lead.post("/orchestrate/spawn", json=odd)).status_code == 404, folder
    output = await said(await lead.get("/orchestrate/output/scout"))
    assert output == {"handle": "scout", "state": "starting", "output": []}
    sent = await said(await lead.post("/orchestrate/send/scout", json={"message": "Mind"}))
    assert (sent["success"], sent["isListening"]) == (True, False)
    gone = await said(await lead.post("/orchestrate/dismiss/scout"))
    assert gone == {"success": True, "handle": "scout"}
    assert (await fleet.get(made["currentTaskId"])).state == "cancelled"
    assert (await lead.post("/orchestrate/dismiss/scout")).status_code == 404


async def test_a_swarm_has_a_blackboard_with_filters_and_marks(lead: Client) -> None:
    swarm = await said(await lead.post("/swarms", json={"name": "hive", "maxAgents": 3}))
    assert (swarm["maxAgents"], swarm["killedAt"]) == (3, None)
    ref = swarm["id"]
    post = {"swarmId": ref, "senderHandle": "ann", "payload": {"done": "half"}}
    urgent = {**post, "messageType": "directive", "priority": "critical", "targetHandle": "scout"}
    first = await said(await lead.post("/blackboard", json={**post, "messageType": "status"}))
    key = {"Idempotency-Key": "urgent"}
    second = await said(await lead.post("/blackboard", json=urgent, headers=key))
    assert await said(await lead.post("/blackboard", json=urgent, headers=key)) == second
    assert (second["targetHandle"], second["readBy"]) == ("scout", [])

    async def ids(**asked: Any) -> list[str]:
        found = await said(await lead.get(f"/blackboard/{ref}", params=asked))
        return [each["id"] for each in found]

    assert await ids() == [second["id"], first["id"]]
    assert await ids(messageType="status") == [first["id"]]
    assert await ids(priority="critical") == [second["id"]]
    assert await ids(limit=1) == [second["id"]]
    marked = {"messageIds": [second["id"]], "readerHandle": "scout"}
    assert (await said(await lead.post("/blackboard/mark-read", json=marked)))["marked"] == 1
    assert await ids(unreadOnly="true", readerHandle="scout") == [first["id"]]
    gone = await said(await lead.post("/blackboard/archive", json={"messageIds": [first["id"]]}))
    assert (gone["archived"], await ids()) == (1, [second["id"]])
    old = await said(await lead.post(f"/blackboard/{ref}/archive-old", json={"maxAgeMs": 0}))
    assert (old["archived"], await ids()) == (1, [])
    spawn = {"handle": "scout", "initialPrompt": "Look", "swarmId": ref}
    worker = await said(await lead.post("/orchestrate/spawn", json=spawn))
    assert worker["swarmId"] == ref
    (agent,) = (await said(await lead.get(f"/swarms/{ref}")))["agents"]
    assert (agent["handle"], agent["state"]) == ("scout", "starting")
    (listed,) = await said(await lead.get("/swarms", params={"includeAgents": "true"}))
    assert listed["agents"] == [agent]
    killed = await said(await lead.post(f"/swarms/{ref}/kill", json={"graceful": False}))
    assert (killed["swarmId"], killed["dismissed"]) == (ref, ["scout"])
    assert await said(await lead.get("/swarms")) == []


async def test_a_checkpoint_is_accepted_by_whom_it_is_for_or_rejected(
    lead: Client, fleet: Fleet
) -> None:
    spawn = {"handle": "scout", "initialPrompt": "Look"}
    await said(await lead.post("/orchestrate/spawn", json=spawn))
    asked = {"fromHandle": "scout", "toHandle": "heir", "goal": "Find it", "now": "half way"}
    done = [{"task": "looked", "files": ["a.py"]}]
    full = {**asked, "doneThisSession": done, "next": ["the rest"], "blockers": ["none"]}
    first = await said(await lead.post("/checkpoints", json=full))
    assert (first["fromHandle"], first["status"]) == ("scout", "pending")
    assert first["checkpoint"]["doneThisSession"] == done
    assert await said(await lead.get(f"/checkpoints/{first['id']}")) == first
    second = await said(await lead.post("/checkpoints", json=asked))
    assert await said(await lead.get("/checkpoints/latest/heir")) == second
    assert await said(await lead.get("/checkpoints/list/scout")) == [second, first]
    assert (await lead.get("/checkpoints/latest/nobody")).status_code == 404
    accepted = await said(await lead.post(f"/checkpoints/{first['id']}/accept"))
    assert accepted["taskId"] == (await fleet.worker("heir")).task
    rejected = await said(await lead.post(f"/checkpoints/{second['id']}/reject"))
    assert rejected == {"success": True, "id": second["id"]}
    assert (await lead.post(f"/checkpoints/{second['id']}/accept")).status_code == 409


async def test_health_says_more_to_who_has_a_token(lead: Client, served: Served) -> None:
    spawn = {"handle": "scout", "initialPrompt": "Look"}
    await said(await lead.post("/orchestrate/spawn", json=spawn))
    told = await said(await lead.get("/health"))
    assert (told["status"], told["agents"], told["workers"]) == ("ok", 1, 1)
    wrong = {"Authorization": "Bearer wrong"}
    assert httpx2.get(f"{served.url}/health", headers=wrong).status_code == 401


async def test_mail_and_handoffs_go_from_handle_to_handle(lead: Client) -> None:
    asked = {"from": "ann", "to": "scout", "body": "Mind the tests", "subject": "tests"}
    mail = await said(await lead.post("/mail", json=asked))
    assert (mail["fromHandle"], mail["toHandle"], mail["readAt"]) == ("ann", "scout", None)
    assert await said(await lead.get("/mail/scout/unread")) == [mail]
    read = await said(await lead.post(f"/mail/{mail['id']}/read"))
    assert read == {"success": True, "id": mail["id"]}
    assert await said(await lead.get("/mail/scout/unread")) == []
    assert [each["id"] for each in await said(await lead.get("/mail/scout"))] == [mail["id"]]
    given = {"from": "ann", "to": "scout", "context": {"left": "the rest"}}
    handoff = await said(await lead.post("/handoffs", json=given))
    assert handoff["context"] == {"left": "the rest"}
    assert await said(await lead.get("/handoffs/scout")) == [handoff]


async def test_memories_are_stored_recalled_and_searched(lead: Client) -> None:
    asked = {"agentId": "scout", "key": "db", "value": "on port 5433", "memoryType": "fact"}
    full, key = {**asked, "tags": ["ports"]}, {"Idempotency-Key": "db"}
    entry = await said(await lead.post("/memory/store", json=full, headers=key))
    assert await said(await lead.post("/memory/store", json=full, headers=key)) == entry
    assert (entry["agentId"], entry["memoryType"], entry["tags"]) == ("scout", "fact", ["ports"])
    assert await said(await lead.get("/memory/recall/scout/db")) == entry
    assert (await lead.get("/memory/recall/scout/nosuch")).status_code == 404
    query = {"agentId": "scout", "query": "port"}
    assert (await said(await lead.post("/memory/search", json=query)))["results"] == [entry]
    assert (await said(await lead.get("/memory/scout")))["memories"] == [entry]


STEPS: list[dict[str, Any]] = [
    {"key": "build", "type": "spawn", "config": {"agentRole": "worker", "task": "Build it"}},
    {
        "key": "test",
        "type": "task",
        "dependsOn": ["build"],
        "config": {"title": "Test it"},
        "onFailure": "retry",
        "maxRetries": 2,
    },
]


async def test_a_workflow_starts_is_shown_and_is_cancelled(lead: Client, fleet: Fleet) -> None:
    asked = {"name": "ship", "definition": {"steps": STEPS}}
    key = {"Idempotency-Key": "ship"}
    made = await said(await lead.post("/workflows", json=asked, headers=key), 201)
    assert await said(await lead.post("/workflows", json=asked, headers=key), 201) == made
    assert [step["stepKey"] for step in made["steps"]] == ["build", "test"]
    assert made["steps"][1]["dependsOn"] == [made["steps"][0]["id"]]
    assert {(await fleet.get(step["id"])).team for step in made["steps"]} == {"web"}
    ref = made["id"]
    assert await said(await lead.post(f"/workflows/{ref}/start"), 201) == made
    assert await said(await lead.get(f"/executions/{ref}")) == made
    assert await said(await lead.get("/executions")) == [made]
    assert await said(await lead.get(f"/executions/{ref}/steps")) == made["steps"]
    assert (await said(await lead.post(f"/executions/{ref}/cancel")))["id"] == ref
    assert (await said(await lead.get(f"/workflows/{ref}")))["status"] == "cancelled"
    again = await said(await lead.post(f"/workflows/{ref}/start"), 201)
    assert again["status"] == "pending"
    wrong: list[dict[str, Any]] = [{"type": "script"}, {"config": {}}, {"dependsOn": ["nosuch"]}]
    for bad in wrong:
        odd = {"name": "odd", "definition": {"steps": [{**STEPS[0], **bad}]}}
        assert (await lead.post("/workflows", json=odd)).status_code == 422, bad
