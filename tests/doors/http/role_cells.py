"""Which right each operation of the API asks for, and a request that would be well-formed.

Those without a right are open to every member within its team, such as listing tasks.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from codefleet.domain.access import Right, allowed
from codefleet.domain.words import Role

OF_THE_MACHINE = "the state of the machine is for the fleet's owner"


class Cell(NamedTuple):
    """The rights that a request needs, in the order in which they are asked.

    Of some, no member has the right: then there is only the sentence that says so. In what is
    `said`, `$task`, `$run` and the like stand for nouns of the member's own team.
    """

    rights: tuple[Right, ...]
    said: Mapping[str, Any]
    never: str = ""

    def refusal(self, role: Role) -> str | None:
        """What the core says to a member with this role, if it refuses."""
        if self.never:
            return self.never
        lacking = (right for right in self.rights if role not in allowed(right).roles)
        for right in lacking:
            return f"bob@{role} may not {right}: the role of this token is {role}"
        return None


def about(*rights: Right, never: str = "", **said: Any) -> Cell:
    return Cell(rights, said, never)


TASK = {"ref": "$task"}
FLOW = {"ref": "$flow"}
PLAN = {"name": "ship", "prompt": "Ship it", "stages": [{"name": "build", "prompt": "Build"}]}

TASKS = {
    "add": about(Right.ADD, drafts=[{"title": "More"}]),
    "list": about(),
    "why": about(ids=["$task"]),
    "watch": about(refs=["$task"], within=0),
    "get": about(**TASK),
    "edit": about(Right.EDIT, **TASK, changes={"priority": 1}),
    "details": about(Right.READ_OUTPUT, **TASK),
    "notes": about(Right.READ_OUTPUT, **TASK),
    "diff": about(Right.READ_OUTPUT, **TASK),
    "run_log": about(Right.READ_OUTPUT, ref="$run"),
    "pause_task": about(Right.PAUSE, **TASK),
    "resume_task": about(Right.RESUME, **TASK),
    "cancel": about(Right.CANCEL, **TASK),
    "retry": about(Right.RETRY, **TASK),
    "answer": about(Right.ANSWER, **TASK, text="Yes"),
    "land": about(Right.LAND, **TASK),
    "moves": about(**TASK),
    "reviews": about(Right.READ_OUTPUT, **TASK),
    "comment": about(Right.REJECT, **TASK, text="No", path="a.py"),
    "withdraw_comment": about(Right.REJECT, **TASK, comment="c-1"),
    "reject": about(Right.REJECT, **TASK, why="No"),
    "send": about(Right.SEND, **TASK, text="Mind"),
    "runs": about(),
    "runs_during": about(since="-1d"),
    "heartbeats": about(ids=["$run"]),
    "similar": about(title="Greet"),
    "search": about(query="Greet"),
    "find": about(query="Greet"),
    "dependencies": about(),
    "open_conflicts": about(),
    "shared_files": about(),
    "is_archived": about(task="$task"),
    "start": about(Right.START, plan=PLAN),
    "workflows": about(),
    "workflow": about(**FLOW),
    "family_of": about(**FLOW),
    "collect_workflow": about(**FLOW),
    "cancel_workflow": about(Right.CANCEL, **FLOW),
    "retry_workflow": about(Right.RETRY_WORKFLOW, **FLOW),
    "cleanup_workflow": about(Right.CLEAN_UP, **FLOW),
}
STATUS = {
    "inbox": about(Right.READ_STATUS),
    "status": about(Right.READ_STATUS),
    "board": about(Right.READ_STATUS),
    "rights": about(),
    "left": about(Right.READ_STATUS),
    "agents": about(Right.READ_STATUS),
    "crew": about(Right.READ_STATUS),
    "cost": about(Right.READ_STATUS, since="-1d"),
    "trends": about(Right.READ_STATUS),
    "counts": about(),
    "rests": about(),
    "events": about(),
    "changed": about(after=0, within=0),
    "story": about(),
    "last_seq": about(),
    "failed_since": about(seq=0),
    "repos": about(),
    "repo": about(name="shop"),
    "now": about(),
}
TALK = {
    "own_handle": about(),
    "workers": about(),
    "worker": about(handle="$worker"),
    "spawn": about(Right.SPAWN, worker={"handle": "scout", "prompt": "Look"}),
    "dismiss": about(Right.CANCEL, handle="$worker"),
    "worktree_status": about(Right.READ_OUTPUT, handle="$worker"),
    "commit_worktree": about(Right.COMMIT, message="Found it", handle="$worker"),
    "push_worktree": about(Right.PUSH, handle="$worker"),
    "swarms": about(),
    "swarm": about(ref="$swarm"),
    "create_swarm": about(Right.SWARM, name="hive"),
    "kill_swarm": about(Right.SWARM, ref="$swarm"),
    "post": about(Right.TALK, swarm="$swarm", type="status", payload={}),
    "read_posts": about(Right.LISTEN, swarm="$swarm"),
    "mark_posts_read": about(Right.LISTEN, ids=["$post"]),
    "archive_posts": about(Right.SWARM, swarm="$swarm", ids=["$post"]),
    "send_mail": about(Right.TALK, to="desk", text="Mind"),
    "mail": about(Right.LISTEN),
    "mark_mail_read": about(Right.LISTEN, ids=["$mail"]),
    "hand_off": about(Right.TALK, to="desk", context={"done": "half"}),
    "handoffs": about(Right.LISTEN),
    "add_checkpoint": about(Right.TALK, goal="Goal", now="Now"),
    "checkpoint": about(Right.LISTEN, ref="$checkpoint"),
    "checkpoints": about(Right.LISTEN),
    "accept_checkpoint": about(Right.TALK, Right.SPAWN, ref="$checkpoint"),
    "reject_checkpoint": about(Right.TALK, ref="$checkpoint"),
    "remember": about(Right.TALK, key="db", value="on port 5433"),
    "memories": about(Right.LISTEN),
    "recall": about(Right.LISTEN, key="db"),
    "search_memory": about(Right.LISTEN, query="port"),
    "claim_files": about(Right.TALK, paths=["src/**"]),
    "file_claims": about(),
    "broadcast": about(Right.BROADCAST, text="Mind"),
    "alert": about(Right.ALERT, text="Fire"),
    "settle_alert": about(Right.ANSWER, ref="alert-1"),
    "notify": about(Right.NOTIFY, text="News"),
}
FLEET = {
    "pause": about(Right.PAUSE_FLEET),
    "resume": about(Right.PAUSE_FLEET),
    "wake": about(Right.WAKE, name="claude"),
    "archive": about(Right.ARCHIVE, older_than="30d"),
    "register": about(Right.ADD_REPO, path="$folder"),
    "teams": about(),
    "team": about(name="$team"),
    "members": about(team="$team"),
    "create_team": about(Right.MANAGE_TEAMS, name="other"),
    "remove_team": about(Right.MANAGE_TEAMS, name="$team"),
    "invites": about(Right.MANAGE_TEAMS, team="$team"),
    "invite": about(Right.MANAGE_TEAMS, team="$team", role="worker"),
    "withdraw_invite": about(Right.MANAGE_TEAMS, ref="i-1"),
    "create_token": about(Right.MANAGE_TEAMS, team="$team", handle="eve", role="team-lead"),
    "tokens": about(Right.MANAGE_TEAMS),
    "check_token": about(),
    "revoke_token": about(Right.MANAGE_TEAMS, ref="t-1"),
    "export": about(Right.EXPORT),
    "gc": about(Right.COLLECT),
    "doctor": about(never=OF_THE_MACHINE),
    "coders": about(never=OF_THE_MACHINE),
    "settings": about(never=OF_THE_MACHINE),
    "configure": about(Right.CHANGE_SETTINGS, key="checks", value="make test"),
}
A_WORKER = {"title": "Look", "handle": "spy"}
VARIANTS = {
    "edit the assignee": ("edit", about(Right.ASSIGN, **TASK, changes={"assignee": "bob"})),
    "edit the team": ("edit", about(Right.EDIT, Right.MOVE_TASK, **TASK, changes={"team": None})),
    "add a worker": (
        "add",
        about(Right.ADD, Right.SPAWN, drafts=[A_WORKER]),
    ),
}
"""What the same operation asks for when it is asked for something else."""
CELLS: Mapping[str, Cell] = {**TASKS, **STATUS, **TALK, **FLEET}
NO_OPERATION = {
    Right.MOVE_REPO: "`fleet init` asks it, on the machine of the repository",
    Right.SHARE_REPO: "`fleet init --share` asks it, on the machine of the repository",
    Right.RUN_AGENTS: "a runner asks it when it starts",
    Right.IMPORT: "`fleet import` asks it",
    Right.RESET: "`fleet migrate` asks it",
    Right.ROTATE: "`fleet token rotate` asks it",
    Right.SET_UP: "`fleet init` asks it",
    Right.MEASURE: "`/metrics` asks it, which is not under `/api/v1`",
}
"""Rights that no operation of the table asks for."""
