"""Every role at every MCP tool of the server: refused in the core's words, or not at all."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from codefleet.domain.access import Right, allowed
from codefleet.domain.words import Role
from codefleet.doors.mcp.server import TOOLSETS
from tests.doors.http.conftest import BOUND_S
from tests.doors.http.role_cells import OF_THE_MACHINE, Cell, about
from tests.doors.http.test_role_matrix import Matrix, Member, matrix

__all__ = ["matrix"]

TASK = {"task_id": "$task"}
WORKER = {"worker_id": "$task"}
FLOW = {"workflow_id": "$flow"}
SWARM = {"swarm_id": "$swarm"}
POST: Mapping[str, Any] = {"message_type": "status", "payload": {}}
STAGES = [{"name": "build", "prompt": "{task_prompt}"}]

TALK: Mapping[str, Cell] = {
    "team_claim": about(Right.TALK, file="src/**"),
    "blackboard_read": about(Right.LISTEN, **SWARM),
    "blackboard_post": about(Right.TALK, **SWARM, **POST),
    "checkpoint_load": about(Right.LISTEN, checkpoint_id="$checkpoint"),
    "checkpoint_create": about(Right.TALK, goal="Goal", now="Now"),
    "checkpoint_accept": about(Right.TALK, Right.SPAWN, checkpoint_id="$checkpoint"),
    "mail_send": about(Right.TALK, to="desk", body="Mind"),
    "mail_read": about(Right.LISTEN),
    "memory_search": about(Right.LISTEN, query="port"),
    "memory_store": about(Right.TALK, key="db", value="on port 5433"),
}
CELLS: Mapping[str, Mapping[str, Cell]] = {
    "workers": {
        "healthcheck": about(never=OF_THE_MACHINE),
        "executor_guide": about(),
        "get_worker_status": about(**WORKER),
        "list_workers": about(),
        "collect_worker_result": about(**WORKER),
        "create_worker": about(Right.ADD, repo_path="$shop", task_name="More", prompt="Do"),
        "cancel_worker": about(Right.CANCEL, **WORKER),
        "cleanup_worker": about(Right.CLEAN_UP, **WORKER),
    },
    "workflows": {
        "get_workflow_status": about(**FLOW),
        "list_workflows": about(),
        "collect_workflow_result": about(**FLOW),
        "create_workflow": about(
            Right.START, name="ship", repo_path="$shop", task_prompt="Ship", stages=STAGES
        ),
        "cancel_workflow": about(Right.CANCEL, **FLOW),
        "cleanup_workflow": about(Right.CLEAN_UP, **FLOW),
    },
    "commander": {
        "search_backlog": about(),
        "check_agent_status": about(Right.READ_STATUS),
        "detect_conflicts": about(),
        "find_similar_tasks": about(query="Greet"),
        "analyze_dependencies": about(),
        "wait": about(ids=["$task"], timeout_seconds=0),
        "create_task": about(Right.ADD, tasks=[{"title": "More"}]),
        "assign_task": about(Right.ASSIGN, **TASK, agent="bob"),
        "edit_task": about(Right.EDIT, **TASK, changes={"priority": 1}),
        "pause_task": about(Right.PAUSE, **TASK),
        "resume_task": about(Right.RESUME, **TASK),
        "retry": about(Right.RETRY, **TASK),
        "cancel": about(Right.CANCEL, **TASK),
        "list_inbox": about(Right.READ_STATUS),
        "review_completed": about(),
        "show_diff": about(Right.READ_OUTPUT, **TASK),
        "read_run_log": about(Right.READ_OUTPUT, **TASK),
        "tail_events": about(),
        "answer_question": about(Right.ANSWER, id="$task", answer="Yes"),
        "land": about(Right.LAND, **TASK),
        "reject": about(Right.REJECT, **TASK, reason="No"),
        "comment_on_work": about(Right.REJECT, **TASK, path="a.py", text="No"),
        "collect_garbage": about(Right.COLLECT),
    },
    "team": {
        **TALK,
        "team_status": about(Right.READ_STATUS),
        "team_workers": about(),
        "team_tasks": about(),
        "team_spawn": about(Right.SPAWN, prompt="Look", handle="scout"),
        "team_dismiss": about(Right.CANCEL, handle="$worker"),
        "team_assign": about(Right.ASSIGN, agent="bob", **TASK),
        "team_send": about(Right.SEND, handle="$task", message="Mind"),
        "team_broadcast": about(Right.BROADCAST, message="Mind"),
        "list_tasks": about(),
        "create_task": about(Right.ADD, tasks=[{"title": "More"}]),
        "update_task": about(Right.RETRY, **TASK, status="pending"),
        "team_complete": about(**TASK),
        "swarm_list": about(),
        "swarm_create": about(Right.SWARM, name="hive"),
        "swarm_kill": about(Right.SWARM, **SWARM),
        "swarm_broadcast": about(Right.BROADCAST, **SWARM, directive="Mind"),
        "blackboard_mark_read": about(Right.LISTEN, message_ids=["$post"]),
        "blackboard_archive": about(Right.SWARM, **SWARM, message_ids=["$post"]),
        "send_message": about(Right.TALK, handle="desk", message="Mind"),
        "read_messages": about(Right.LISTEN),
        "team_handoff": about(Right.TALK, to="desk", context={"done": "half"}),
        "checkpoint_list": about(Right.LISTEN),
        "checkpoint_reject": about(Right.TALK, checkpoint_id="$checkpoint"),
        "memory_recall": about(Right.LISTEN, key="db"),
        "worktree_commit": about(Right.COMMIT, message="Found it", handle="$worker"),
        "worktree_push": about(Right.PUSH, handle="$worker"),
    },
    "agent": {
        **TALK,
        "read_results": about(),
        "ask_human": about(question="Which?"),
        "report_progress": about(text="Half"),
        "note_knowledge": about(text="Port 5433"),
        "create_task": about(tasks=[{"title": "More"}]),
    },
}
"""Those of an agent without a right act for its run, which a member does not have. `team_complete`
tells everybody that git and the checks decide; work that waits for a review it lands, see `land`.
"""


@pytest.fixture(scope="module")
def client(matrix: Matrix) -> Iterator[httpx2.Client]:
    accept = {"Accept": "application/json, text/event-stream"}
    with httpx2.Client(base_url=matrix.served.url, headers=accept, timeout=BOUND_S) as opened:
        yield opened


def called(
    client: httpx2.Client, bob: Member, toolset: str, tool: str, said: Mapping[str, Any]
) -> str | None:
    """Call a tool; the core's sentence if that is forbidden, whatever else it says is None."""
    params = {"name": tool, "arguments": bob.filled(dict(said))}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = client.post(f"/mcp?toolsets={toolset}", json=request, headers=bob.headers)
    assert answer.status_code == 200, answer.text
    body = answer.text.rpartition("data: ")[2]
    told = httpx2.Response(200, text=body).json()["result"]["structuredContent"]
    assert told.get("code") not in ("error", "invalid"), (tool, told)
    return str(told["problem"]) if told.get("code") == "forbidden" else None


def test_every_tool_has_a_row_in_the_matrix() -> None:
    tools = {
        name: {tool for part in parts for tool in (*part.READS, *part.WRITES)}
        for name, parts in TOOLSETS.items()
    }
    assert {name: {*rows} for name, rows in CELLS.items()} == tools


@pytest.mark.slow
@pytest.mark.parametrize("toolset", TOOLSETS)
@pytest.mark.parametrize("role", Role)
def test_over_mcp_a_role_is_refused_exactly_what_the_table_denies(
    matrix: Matrix, client: httpx2.Client, role: Role, toolset: str
) -> None:
    bob, before = matrix.members[role], matrix.seq()
    denied = {name: cell for name, cell in CELLS[toolset].items() if cell.refusal(role)}
    told = {name: called(client, bob, toolset, name, cell.said) for name, cell in denied.items()}
    assert told == {name: cell.refusal(role) for name, cell in denied.items()}
    assert matrix.seq() == before
    granted = {name: cell for name, cell in CELLS[toolset].items() if name not in denied}
    for name, cell in granted.items():
        assert called(client, bob, toolset, name, cell.said) is None, name


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
def test_over_mcp_only_those_who_may_read_output_read_the_resources_of_a_run(
    matrix: Matrix, client: httpx2.Client, role: Role
) -> None:
    bob = matrix.members[role]
    for kind in ("log", "diff", "evidence"):
        params = {"uri": f"fleet://runs/{bob.names['run']}/{kind}"}
        request = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params}
        answer = client.post("/mcp", json=request, headers=bob.headers)
        is_refused = "may not read the output of others" in answer.text
        assert is_refused == (role not in allowed(Right.READ_OUTPUT).roles), kind
