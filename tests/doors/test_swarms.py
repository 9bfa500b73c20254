"""The commands for workers and swarms."""

import json

from tests.doors.conftest import Cli
from tests.script import script


def test_a_worker_is_spawned_shown_and_dismissed(fleet: Cli) -> None:
    made = json.loads(fleet("spawn", "scout", "Look around", "--json").out)
    assert (made["handle"], made["priority"]) == ("scout", 5)
    shown = fleet("workers").out.splitlines()
    assert shown[1].split()[:4] == ["scout", "starting", "healthy", made["id"]]
    assert json.loads(fleet("workers", "--json").out)[0]["task"] == made["id"]
    again = fleet("spawn", "scout", "Look again")
    assert (again.code, "already the handle" in again.err) == (2, True)
    assert "is cancelled" in fleet("dismiss", "scout").err
    assert "no workers" in fleet("workers").err
    assert fleet("dismiss", "scout").code == 3


def test_a_worker_for_the_scripted_agent_without_a_script_gets_a_warning(fleet: Cli) -> None:
    warned = fleet("spawn", "scout", "Look around", "--coder", "scripted")
    assert "goes to `scripted`, which only runs scripts, but it contains none" in warned.err
    told = fleet("spawn", "other", script("write a.txt a"), "--coder", "scripted")
    assert "warning" not in told.err
    assert "is the task of other: Worker other" in told.err


def test_the_output_of_a_worker_without_a_run_is_refused_with_a_hint(fleet: Cli) -> None:
    fleet("spawn", "scout", "Look around")
    result = fleet("output", "scout")
    assert (result.code, "has no run yet" in result.err) == (3, True)


def test_a_swarm_is_created_shown_and_killed(fleet: Cli) -> None:
    swarm = fleet("swarm-create", "hive", "3").out.split()[0]
    fleet("spawn", "scout", "Look around", "--swarm", swarm)
    assert "1 of 3: scout" in fleet("swarms").out
    assert json.loads(fleet("swarms", "--json").out)[0]["agents"] == ["scout"]
    assert f"{swarm} is killed; 1 task cancelled" in fleet("swarm-kill", swarm).err
    assert "no swarms" in fleet("swarms").err
    assert fleet("swarm-create", "hive", "101").code == 2


def test_a_post_is_on_the_blackboard(fleet: Cli) -> None:
    swarm = fleet("swarm-create", "hive").out.split()[0]
    assert "nothing is on the blackboard" in fleet("blackboard", swarm).err
    said = '{"done": "the API \\u001b[31m"}'
    post = fleet("blackboard-post", swarm, "scout", "status", said, "--to", "lead").out.strip()
    assert fleet("blackboard", swarm).out.splitlines()[1].startswith(post)
    assert "\x1b" not in fleet("blackboard", swarm).out
    read = json.loads(fleet("blackboard", swarm, "--reader", "lead", "--unread", "--json").out)
    assert [each["id"] for each in read] == [post]
    assert "nothing" in fleet("blackboard", swarm, "--reader", "other").err
    wrong = fleet("blackboard-post", swarm, "scout", "status", "[1]")
    assert (wrong.code, "not a JSON object" in wrong.err) == (2, True)
    assert fleet("blackboard", "nope").code == 3


def test_swarms_have_a_part_of_the_help_of_their_own(cli: Cli) -> None:
    assert "Workers and swarms:" in cli("--help").out


def test_mail_is_sent_and_shown(fleet: Cli) -> None:
    assert "no mail for scout" in fleet("mail", "scout").err
    assert "the next scout that is in no" in fleet("mail-send", "lead", "scout", "Hi", "Why").err
    line = fleet("mail", "scout").out.splitlines()[1].split()
    assert line[3:] == ["lead", "no", "Why", "Hi"]
    (sent,) = json.loads(fleet("mail", "scout", "--unread", "--json").out)
    assert (sent["sender"], sent["subject"], sent["text"]) == ("lead", "Why", "Hi")
    assert "nothing was handed over" in fleet("handoffs", "scout").err


def test_mail_names_who_gets_it(fleet: Cli) -> None:
    fleet("team", "create", "web")
    told = fleet("mail-send", "lead", "late", "Hi", "--team", "web").err
    assert "nobody is late now; the next late of the team web gets it" in told
    assert fleet("mail-send", "lead", "late", "Hi", "--team", "nope").code == 3
    fleet("spawn", "scout", "Look")
    assert "scout gets it in the next run" in fleet("mail-send", "lead", "scout", "Hi").err


def test_an_agent_without_checkpoints_has_none(fleet: Cli) -> None:
    assert "no checkpoints of scout" in fleet("checkpoints", "scout").err
    assert json.loads(fleet("checkpoints", "scout", "--json").out) == []
    wrong = fleet("checkpoints", "scout", "--status", "foo")
    assert (wrong.code, "'foo' is none of pending, accepted, rejected" in wrong.err) == (2, True)
