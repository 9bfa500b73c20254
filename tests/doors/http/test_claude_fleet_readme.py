"""The transcript of claude-fleet's README: its commands with `fleet`, its routes with curl."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.gitrepo import SampleRepo
from tests.script import script

pytestmark = pytest.mark.slow

BOUND_S = 60.0
TEAM = "my-team"
T = TypeVar("T")


class Terminal:
    """Two programs as a user of claude-fleet types them, in a repository."""

    def __init__(self, repo: SampleRepo, home: Path) -> None:
        self._folder = repo.path
        self._env = {**os.environ, "FLEET_HOME": str(home), "FLEET_CODER": "scripted"}
        self.url = self.token = ""

    def fleet(self, *words: str) -> str:
        """What the command prints; it must succeed."""
        return self._printed(sys.executable, "-m", "codefleet", *words)

    def curl(self, method: str, path: str, *, answers: int = 200, **body: Any) -> Any:
        """The answer of a route, which must have this status."""
        sent = ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body else []
        who = ["-H", f"Authorization: Bearer {self.token}"] if self.token else []
        told = self._printed(
            *("curl", "-s", "-X", method, "-w", "\n%{http_code}", *who, *sent, self.url + path)
        )
        text, _, code = told.rpartition("\n")
        assert int(code) == answers, told
        return json.loads(text) if text.startswith(("{", "[")) else text

    def _printed(self, *argv: str) -> str:
        done = subprocess.run(
            argv,
            cwd=self._folder,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def terminal(repo: SampleRepo, home: Path) -> Iterator[Terminal]:
    """A served fleet that works its queue, started and stopped as the README does."""
    found = Terminal(repo, home)
    found.fleet("init")
    found.fleet("serve", "--agents", "2", "--port", "0", "--background")
    (found.url,) = (
        word for word in found.fleet("serve", "--status").split() if word.startswith("http")
    )
    yield found
    found.fleet("serve", "--stop")


def waited(look: Callable[[], T | None]) -> T:
    """The first thing found that is not empty."""
    end = time.monotonic() + BOUND_S
    while not (found := look()):
        assert time.monotonic() < end, "it did not happen"
    return found


def processes_in(folder: str) -> set[int]:
    """The processes that work in a folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                inside = (entry / "cwd").readlink().is_relative_to(folder)
            except OSError:  # it has ended, or is not ours
                continue
            found |= {int(entry.name)} if inside else set()
    return found


def both_in(folder: str) -> set[int] | None:
    """The agent and what it left behind, once both are there."""
    found = processes_in(folder)
    return found if len(found) > 1 else None


def join(terminal: Terminal) -> dict[str, Any]:
    """Become a team-lead, which takes a secret."""
    terminal.fleet("team", "create", TEAM)
    secret = terminal.fleet("team", "invite", TEAM, "--role", "team-lead").strip()
    asked: dict[str, Any] = {"handle": "my-agent", "teamName": TEAM, "agentType": "team-lead"}
    terminal.curl("POST", "/auth", **asked, answers=422)
    terminal.curl("POST", "/auth", **asked, secret="guess", answers=401)
    told: dict[str, Any] = terminal.curl("POST", "/auth", **asked, secret=secret)
    assert (told["teamName"], told["agentType"]) == (TEAM, "team-lead")
    return told


def test_a_worker_is_spawned_told_shown_and_dismissed_with_its_whole_process_tree(
    terminal: Terminal, repo: SampleRepo
) -> None:
    assert terminal.fleet("health").startswith("ok; served at")
    assert terminal.curl("GET", "/health") == {"status": "ok"}
    assert "tasks" in terminal.fleet("metrics", "--json")
    terminal.token = join(terminal)["token"]
    steps = ("orphan 600", "listen", "write heard.txt {{message}}", "say heard {{message}}", "hang")
    spawned = terminal.curl(
        *("POST", "/orchestrate/spawn"), handle="scout", initialPrompt=script(*steps)
    )
    assert (spawned["teamName"], spawned["spawnMode"]) == (TEAM, "process")

    def worker() -> dict[str, Any] | None:
        (found,) = terminal.curl("GET", "/orchestrate/workers")
        return found if found["state"] == "working" else None

    working = waited(worker)
    alive = waited(lambda: both_in(working["workingDir"]))
    assert "scout" in terminal.fleet("workers")
    terminal.fleet("send", "scout", "Mind the tests")

    def output() -> list[str]:
        printed = terminal.curl("GET", "/orchestrate/output/scout")["output"]
        return [line for line in printed if "heard Mind the tests" in line]

    waited(output)
    assert terminal.curl("GET", "/orchestrate/worktree/scout/status")["hasChanges"]
    evil = "Heard $(touch trap) `touch trap`"
    made = terminal.curl("POST", "/orchestrate/worktree/scout/commit", message=evil)
    assert repo.git("log", "-1", "--format=%s", made["commitHash"]) == evil
    assert not [*repo.path.rglob("trap"), *Path(working["workingDir"]).rglob("trap")]
    assert terminal.curl("POST", "/orchestrate/dismiss/scout") == {
        "success": True,
        "handle": "scout",
    }
    waited(lambda: not alive & processes_in("/"))
    waited(lambda: terminal.curl("GET", "/orchestrate/workers") == [])
    assert output()
    (task,) = terminal.curl("GET", f"/teams/{TEAM}/tasks")
    assert (task["ownerHandle"], task["state"]) == ("scout", "cancelled")
    assert task["id"] in terminal.fleet("tasks", TEAM)

    def kept() -> str:
        refs = "refs/fleet/archive"
        return repo.git("for-each-ref", "--contains", made["commitHash"], refs)

    assert waited(kept)
    assert repo.read(made["commitHash"], "heard.txt") == "Mind the tests\n"


def test_what_an_agent_finished_is_on_the_trunk_and_stays(
    terminal: Terminal, repo: SampleRepo
) -> None:
    me = join(terminal)
    terminal.token = me["token"]
    made = terminal.curl(
        *("POST", "/tasks"),
        fromUid=me["uid"],
        toHandle="builder",
        teamName=TEAM,
        subject="Build it",
        description=script("write built.txt yes", "finish"),
    )
    terminal.curl("PATCH", f"/tasks/{made['id']}", status="open")

    def resolved() -> bool:
        task = terminal.curl("GET", f"/tasks/{made['id']}")
        return bool(task["status"] == "resolved")

    waited(resolved)
    assert repo.read("main", "built.txt") == "yes\n"
    (task,) = terminal.curl("GET", f"/teams/{TEAM}/tasks")
    assert (task["id"], task["createdByHandle"]) == (made["id"], "my-agent")
    assert terminal.curl("GET", "/orchestrate/output/builder")["output"]
    assert repo.git("log", "--format=%s", "main").count("Build it")


def test_a_swarm_its_blackboard_and_a_checkpoint(terminal: Terminal) -> None:
    terminal.token = join(terminal)["token"]
    swarm = terminal.curl("POST", "/swarms", name="hive", maxAgents=2)
    assert "hive" in terminal.fleet("swarms")
    assert "nest" in terminal.fleet("swarm-create", "nest", "2")
    assert [each["name"] for each in terminal.curl("GET", "/swarms")] == ["hive"]
    said: dict[str, Any] = {"messageType": "status", "payload": {"done": "half"}}
    post = terminal.curl(
        "POST", "/blackboard", swarmId=swarm["id"], senderHandle="my-agent", **said
    )
    assert terminal.curl("GET", f"/blackboard/{swarm['id']}") == [post]
    whom: dict[str, Any] = {"fromHandle": "my-agent", "toHandle": "heir"}
    left = terminal.curl("POST", "/checkpoints", **whom, goal="Ship it", now="half way")
    assert terminal.curl("GET", "/checkpoints/latest/heir") == left
    agents = terminal.curl("GET", f"/teams/{TEAM}/agents")
    assert [(each["handle"], each["agentType"]) for each in agents] == [("my-agent", "team-lead")]
    assert "my-agent" in terminal.fleet("teams", TEAM)
    terminal.token = ""
    terminal.curl("GET", "/metrics", answers=401)
