"""Every verb has its command and its tool, or a reason for having none."""

import inspect
from importlib import import_module
from typing import NamedTuple

import click
import pytest

from codefleet.api.table import OPERATIONS
from codefleet.doors.cli.commands import COMMANDS
from codefleet.doors.mcp.server import TOOLSETS
from codefleet.fleet import Fleet
from codefleet.fleet.own_run import OwnRun
from codefleet.runner import repos, verbs


class Doors(NamedTuple):
    """Where a verb can be asked; an empty name means nowhere, and `why` says why."""

    command: str = ""
    tool: str = ""
    why: str = ""


PART = Doors(why="part of what the doors show, or of how they wait")
FACT = Doors(why="a fact about the open fleet")
RIGHT = Doors(why="who asks, and what they may do: doors only pass it on")
REPEATED = Doors(why="for requests over a network, which may get lost and be repeated")
AGENTS = "only the agent of a run can"
TEAMS = "who belongs to the fleet is for its owner"
MONITORS = "for programs with a token, over HTTP"
LOCAL = "moves or removes a whole fleet: for the human at the machine"

FLEET = {
    "accept_checkpoint": Doors(tool="checkpoint_accept", why="agents go on from one another"),
    "add_checkpoint": Doors(tool="checkpoint_create", why="agents write them"),
    "add": Doors("add", "create_task"),
    "agents": Doors("agents", "check_agent_status"),
    "alert": Doors(why=MONITORS),
    "archive_posts": Doors(tool="blackboard_archive", why="commands show only what is open"),
    "answer": Doors("answer", "answer_question"),
    "broadcast": Doors(tool="team_broadcast", why="`fleet send` names one agent"),
    "archive": Doors("archive", why=LOCAL),
    "cancel": Doors("cancel", "cancel"),
    "cancel_workflow": Doors("workflow cancel", "cancel_workflow"),
    "claim_files": Doors(tool="team_claim", why="agents claim what they are about to change"),
    "collect_workflow": Doors("workflow collect", "collect_workflow_result"),
    "create_team": Doors("team create", why=TEAMS),
    "create_token": Doors("token create", why=TEAMS),
    "cost": Doors("cost", why="check_agent_status tells what today cost"),
    "checkpoint": Doors("checkpoints", "checkpoint_load"),
    "checkpoints": Doors("checkpoints", "checkpoint_list"),
    "create_swarm": Doors("swarm-create", "swarm_create"),
    "crew": Doors("agents", "check_agent_status"),
    "dependencies": Doors(
        tool="analyze_dependencies", why="`fleet list` shows what waits for what"
    ),
    "details": Doors("show", why="get_worker_status and read_run_log tell the parts"),
    "dismiss": Doors("dismiss", "team_dismiss"),
    "edit": Doors("edit", "edit_task"),
    "events": Doors("log", "tail_events"),
    "export": Doors("export", why=LOCAL),
    "file_claims": Doors(tool="detect_conflicts", why="`fleet status` shows real conflicts"),
    "find": Doors(why="for the page; `fleet list --search` and `memory_search` find the parts"),
    "follow": Doors("log", why="a tool returns; `wait` and tail_events continue from a seq"),
    "forget": Doors("reset", why=LOCAL),
    "get": Doors("show", "get_worker_status"),
    "hand_off": Doors(tool="team_handoff", why="agents hand over; `fleet handoffs` shows it"),
    "handoffs": Doors("handoffs", why="mail and prompts bring them to agents"),
    "heartbeats": Doors(tool="get_worker_status", why="`fleet agents` shows those of runners"),
    "invite": Doors("team invite", why=TEAMS),
    "invites": Doors("team show", why=TEAMS),
    "join": Doors(why="whoever joins has no token yet: over HTTP"),
    "members": Doors("team show", why=TEAMS),
    "notify": Doors(why=MONITORS),
    "remove_team": Doors("team remove", why=TEAMS),
    "revoke_token": Doors("token revoke", why=TEAMS),
    "rotate_keys": Doors("token rotate", why=TEAMS),
    "settle_alert": Doors("inbox", why="list_inbox shows alerts; a human settles them"),
    "team": Doors("team show", why=TEAMS),
    "teams": Doors("team list", why=TEAMS),
    "tokens": Doors("token list", why=TEAMS),
    "withdraw_invite": Doors("team withdraw", why=TEAMS),
    "inbox": Doors("inbox", "list_inbox"),
    "kill_swarm": Doors("swarm-kill", "swarm_kill"),
    "land": Doors("land", "land"),
    "left": Doors("run", why="`wait` and list_inbox tell what is left"),
    "list": Doors("list", "search_backlog"),
    "moves": Doors(why="for menus and buttons; a refused verb tells what is allowed"),
    "rights": Doors(why="for menus and buttons; a refused verb tells who may"),
    "sign_in_code": Doors("dashboard", why="for a browser at the machine"),
    "load": Doors("import", why=LOCAL),
    "mail": Doors("mail", "mail_read"),
    "mark_mail_read": Doors(tool="mail_read", why="a human reads without marks"),
    "mark_posts_read": Doors(tool="blackboard_mark_read", why="a human reads without marks"),
    "memories": Doors(tool="memory_recall", why="agents remember; `fleet log` shows what"),
    "open_conflicts": Doors("status", "detect_conflicts"),
    "pause": Doors("pause", "pause_task"),
    "post": Doors("blackboard-post", "blackboard_post"),
    "read_posts": Doors("blackboard", "blackboard_read"),
    "recall": Doors(tool="memory_recall", why="agents remember"),
    "register": Doors("init", "create_worker"),
    "reject": Doors("reject", "reject"),
    "comment": Doors("comment", "comment_on_work"),
    "withdraw_comment": Doors(why="for the page, where reviewers write; a comment is cheap"),
    "reviews": Doors("show", why="the agent gets the comments; show_diff shows the work"),
    "reject_checkpoint": Doors(tool="checkpoint_reject", why="agents decide about them"),
    "remember": Doors(tool="memory_store", why="agents remember"),
    "rests": Doors("coders", "check_agent_status"),
    "resume": Doors("resume", "resume_task"),
    "retry": Doors("retry", "retry"),
    "retry_workflow": Doors("workflow retry", why="`retry` puts each stage back"),
    "search": Doors(tool="find_similar_tasks", why="`fleet list --search` finds words"),
    "search_memory": Doors(tool="memory_search", why="agents remember"),
    "send": Doors("send", "team_send"),
    "send_mail": Doors("mail-send", "mail_send"),
    "shared_files": Doors(tool="detect_conflicts", why="`fleet status` shows real conflicts"),
    "similar": Doors("add", why="`find_similar_tasks` also finds finished ones"),
    "spawn": Doors("spawn", "team_spawn"),
    "start": Doors("workflow run", "create_workflow"),
    "status": Doors("status", "check_agent_status"),
    "story": Doors("log", why="the archive is a file of this machine"),
    "swarm": Doors("blackboard", "swarm_list"),
    "swarms": Doors("swarms", "swarm_list"),
    "trends": Doors(why="for the charts of the page; `fleet cost` and `fleet metrics` tell sums"),
    "wake": Doors("coders", why="after a login at the machine"),
    "watch": Doors("watch", "wait"),
    "why": Doors("list", "search_backlog"),
    "worker": Doors("output", "team_assign"),
    "workers": Doors("workers", "team_workers"),
    "workflow": Doors("workflow show", "get_workflow_status"),
    "workflows": Doors("workflow list", "list_workflows"),
    **dict.fromkeys(("changed", "counts", "failed_since", "family_of", "find_runs"), PART),
    **dict.fromkeys(("is_archived", "last_runs", "last_seq", "repo", "repos", "runs_of"), PART),
    "runs_during": Doors(why="for the dashboard's timeline; `fleet log` tells the same in lines"),
    **dict.fromkeys(("message", "read_post"), PART),
    **dict.fromkeys(("expecting", "forget_receipts", "once"), REPEATED),
    **dict.fromkeys(("invite_again", "token_again"), REPEATED),
    **dict.fromkeys(("config", "home", "host", "now"), FACT),
    **dict.fromkeys(("acting_as", "actor", "asking", "permit", "permit_reading"), RIGHT),
    **dict.fromkeys(("check_token", "own_handle", "with_token"), RIGHT),
    **dict.fromkeys(("session", "with_code", "with_session"), RIGHT),
}
UNSERVED = {
    **dict.fromkeys(
        ("acting_as", "actor", "asking", "permit", "permit_reading"), "the token says it"
    ),
    **dict.fromkeys(("with_token", "with_session", "once", "expecting"), "a header says it"),
    **dict.fromkeys(("session", "with_code"), "`POST /session` signs a browser in"),
    "sign_in_code": "for a browser at the machine",
    **dict.fromkeys(("follow",), "the stream of `events` tells it"),
    **dict.fromkeys(("find_runs", "runs_of", "last_runs"), "`runs` lists them"),
    **dict.fromkeys(("home", "host", "config"), "about the server's own machine"),
    **dict.fromkeys(("known_repo", "moved", "share"), "needs a folder of the machine"),
    **dict.fromkeys(("forget", "load", "rotate_keys"), "for the human at the machine"),
    "join": "`POST /auth` needs no token",
    "message": "the answer to a repeated `send`",
    "read_post": "the answer to a repeated `post`",
    "invite_again": "the answer to a repeated `invite`",
    "token_again": "the answer to a repeated `create_token`",
    "forget_receipts": "the server does it by itself",
    "cleanup_task": "`gc` removes what is finished",
}
"""The verbs without a route, and why."""
OWN_RUN = {
    "answer_to": Doors(tool="ask_human", why=AGENTS),
    "pose": Doors(tool="ask_human", why=AGENTS),
    "related": Doors(tool="read_results", why=AGENTS),
    "report": Doors(tool="report_progress", why=AGENTS),
    "run": RIGHT,
}
OF_THE_MACHINE = {
    "land": Doors("land", "land"),
    "diff": Doors("diff", "show_diff"),
    "notes": Doors("show", why="get_worker_status tells results; resources have the rest"),
    "run_log": Doors("log", "read_run_log"),
    "commit_worktree": Doors(tool="worktree_commit", why="what an agent leaves is committed"),
    "push_worktree": Doors(tool="worktree_push", why="a human has git push"),
    "worktree_status": Doors(why="`fleet diff` and show_diff tell more; for programs over HTTP"),
    "gc": Doors("gc", "collect_garbage"),
    "cleanup_workflow": Doors("workflow cleanup", "cleanup_workflow"),
    "cleanup_task": Doors(tool="cleanup_worker", why="`fleet gc` removes what is finished"),
    "doctor": Doors("doctor", "healthcheck"),
    "coders": Doors("coders", "healthcheck"),
    "configure": Doors("config set", why="settings are for a human to change"),
    "settings": Doors("config show", why="settings are for a human to change"),
    "known_repo": Doors("add", "create_worker"),
    "register": Doors("init", "create_worker"),
    "moved": Doors("init", why="needs a folder of this machine"),
    "share": Doors("init", why="changes how machines exchange work: for the human"),
}
EVERY = [*FLEET.items(), *OWN_RUN.items(), *OF_THE_MACHINE.items()]
TOOLS = {tool for parts in TOOLSETS.values() for it in parts for tool in (*it.READS, *it.WRITES)}


def test_every_verb_of_the_fleet_says_where_it_can_be_asked() -> None:
    assert {name for name in dir(Fleet) if not name.startswith("_")} == FLEET.keys()


def test_every_verb_of_an_agent_says_where_it_can_be_asked() -> None:
    assert {name for name in dir(OwnRun) if not name.startswith("_")} == OWN_RUN.keys()


def test_every_verb_that_needs_the_machine_says_where_it_can_be_asked() -> None:
    own = {
        name
        for module in (verbs, repos)
        for name, each in inspect.getmembers(module, inspect.isfunction)
        if each.__module__ == module.__name__ and not name.startswith("_")
    }
    assert own == OF_THE_MACHINE.keys()


@pytest.mark.parametrize(("verb", "doors"), EVERY)
def test_a_door_without_the_verb_has_a_reason(verb: str, doors: Doors) -> None:
    assert (doors.command and doors.tool) or doors.why, verb


@pytest.mark.parametrize(("verb", "doors"), EVERY)
def test_the_named_command_exists(verb: str, doors: Doors) -> None:
    if doors.command:
        first, *rest = doors.command.split()
        assert first in COMMANDS, verb
        module, _, name = COMMANDS[first].partition(":")
        command = getattr(import_module(f"codefleet.doors.cli.{module}"), name)
        if rest:
            assert isinstance(command, click.Group)
            assert rest[0] in command.list_commands(click.Context(command))


@pytest.mark.parametrize(("verb", "doors"), EVERY)
def test_the_named_tool_exists(verb: str, doors: Doors) -> None:
    assert not doors.tool or doors.tool in TOOLS, verb


def test_every_verb_has_a_route_or_a_reason_for_having_none() -> None:
    served = {operation.name for operation in OPERATIONS}
    verbs_ = FLEET.keys() | OF_THE_MACHINE.keys()
    assert verbs_ - served == UNSERVED.keys()
    assert served - verbs_ == {"board", "pause_task", "resume_task", "runs"}
