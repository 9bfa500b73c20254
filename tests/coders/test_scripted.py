"""The scripted agent, run as a program: each step of its language, sessions, refusals."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from codefleet.coders import script_steps, script_text, scripted_agent
from codefleet.coders.scripted import coder
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Asks,
    Broke,
    Changed,
    Finished,
    Limited,
    Said,
    Signal,
    Started,
    Tool,
    Used,
    Wants,
)
from tests.coders.assignments import assignment
from tests.gitrepo import ALONE

DONE = Finished("The script is done.")


def said(prompt: str) -> str:
    return json.dumps({"type": "say", "id": "prompt", "text": prompt}) + "\n"


class Played(NamedTuple):
    code: int
    signals: list[Signal]


class Stage:
    """A worktree and a home, in which scripts run as runs of one task."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir()

    def script(self, script: str, *, run: int = 1, resume: str | None = None) -> Played:
        return self.prompt(f"# A task\n\n```fleet\n{script}\n```\nGood luck", run, resume)

    def prompt(self, prompt: str, run: int = 1, resume: str | None = None) -> Played:
        agent = self.begin(prompt, run, resume)
        out, _ = agent.communicate(said(prompt), timeout=60)
        signals = [signal for line in out.splitlines() for signal in coder.read(line)]
        assert signals[0] == Started(resume or f"t1.{run}", "script")
        return Played(agent.returncode, signals[1:])

    def begin(
        self, prompt: str, run: int = 1, resume: str | None = None
    ) -> "subprocess.Popen[str]":
        given = assignment(self.home, prompt, number=run, resume=resume)
        given.prompt_file.parent.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            coder.start(given).argv,
            cwd=self.work,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **ALONE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def file(self, path: str) -> str:
        return (self.work / path).read_text()

    def git(self, *args: str) -> str:
        env = {**os.environ, **ALONE}
        done = subprocess.run(
            ["git", *args], cwd=self.work, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_files_are_written_edited_appended_to_and_deleted(stage: Stage) -> None:
    played = stage.script(
        """
# a remark, and an empty line

write src/deep/a.py <<END
def f():
    return 'old'  # {x}
END
edit src/deep/a.py "'old'" "'new'"
append src/deep/a.py "f()"
edit src/deep/a.py <<OLD <<NEW
f()
OLD
print(f())
NEW
write gone.txt soon
delete gone.txt"""
    )
    assert stage.file("src/deep/a.py") == "def f():\n    return 'new'  # {x}\nprint(f())\n"
    assert not (stage.work / "gone.txt").exists()
    made, path = Changed("src/deep/a.py", "added"), Changed("src/deep/a.py")
    gone = [Changed("gone.txt", "added"), Changed("gone.txt", "deleted")]
    assert played == (0, [made] + [path] * 3 + gone + [DONE])


def test_an_edit_whose_text_is_absent_fails_loudly(stage: Stage) -> None:
    played = stage.script('write a.txt one\nedit a.txt two three\nwrite b.txt "not reached"')
    told = Broke("line 2, edit: a.txt does not contain 'two'")
    assert played == (1, [Changed("a.txt", "added"), told])
    assert not (stage.work / "b.txt").exists()


def test_a_shell_command_is_a_tool_call_and_its_words_stay_out_of_the_protocol(
    stage: Stage,
) -> None:
    command = "echo hello && pwd > where"
    played = stage.script(f"shell {command}")
    assert played == (0, [Tool("shell", command), Tool("shell", command, done=True), DONE])
    assert Path(stage.file("where").strip()) == stage.work


def test_a_shell_command_that_fails_breaks_the_script(stage: Stage) -> None:
    played = stage.script("shell exit 4\nsay not reached")
    assert played.code == 1
    assert played.signals[-1] == Broke("line 1, shell: exit code 4 from: exit 4")


def test_a_commit_takes_everything_and_none_is_made_of_nothing(stage: Stage) -> None:
    stage.git("init", "-q")
    played = stage.script("write a.txt hi\ncommit It's here\ncommit Nothing new")
    assert stage.git("log", "--format=%s") == "It's here"
    assert stage.git("status", "--porcelain") == ""
    assert Said("There is nothing to commit.") in played.signals
    assert played.code == 0


def test_words_usage_and_the_end_are_told(stage: Stage) -> None:
    played = stage.script(
        "say Don't worry\nusage input=10 output=4 cached=3 cost=0.02\n"
        "usage input=1\nfinish All good"
    )
    assert played.signals == [
        Said("Don't worry"),
        Used(Usage(input_tokens=10, output_tokens=4, cached_tokens=3, cost_usd=0.02)),
        Used(Usage(input_tokens=1)),
        Finished("All good"),
    ]


def test_lines_are_recited(stage: Stage) -> None:
    played = stage.script("recite 2 1000")
    assert played.signals == [Said("line 1 of 2"), Said("line 2 of 2"), DONE]


def test_an_agent_can_say_that_nothing_had_to_change(stage: Stage) -> None:
    played = stage.script("finish --no-changes It was right already")
    assert played.signals == [Finished("It was right already", no_changes=True)]


def test_a_limit_tells_when_work_is_possible_again(stage: Stage) -> None:
    before = datetime.now(UTC)
    [limited] = stage.script("limit 90 Come back later").signals
    assert isinstance(limited, Limited)
    assert limited.text == "Come back later"
    assert limited.resets_at
    assert timedelta(seconds=89) < limited.resets_at - before < timedelta(seconds=120)


def test_an_agent_can_say_why_it_cannot_go_on(stage: Stage) -> None:
    assert stage.script("broke auth Please log in") == (1, [Broke("Please log in", "auth")])


@pytest.mark.parametrize(
    ("how", "code"), [("", 1), ("7", 7), ("SIGSEGV", -signal.SIGSEGV), ("SIGKILL", -9)]
)
def test_a_crash_is_without_a_word(stage: Stage, how: str, code: int) -> None:
    assert stage.script(f"say bye\ncrash {how}") == (code, [Said("bye")])


def test_waiting_ends_with_time_or_with_a_file(stage: Stage) -> None:
    (stage.work / "here").touch()
    assert stage.script("wait 0.01\nwait until here\nwait until here 5") == (0, [DONE])
    late = stage.script("wait until never 0.05")
    assert late == (1, [Broke("line 1, wait: never did not appear within 0.05 s")])


@pytest.fixture
def held(stage: Stage) -> Iterator["subprocess.Popen[str]"]:
    prompt = "```fleet\nignore SIGTERM\norphan\nsay deaf now\nhang\n```"
    with stage.begin(prompt) as agent:
        assert agent.stdin
        agent.stdin.write(said(prompt))
        agent.stdin.close()
        yield agent
        agent.kill()


def test_each_line_is_there_at_once_and_a_deaf_agent_leaves_an_orphan(
    held: "subprocess.Popen[str]",
) -> None:
    assert held.stdout
    lines = [held.stdout.readline() for _ in range(3)]
    signals = [signal for line in lines for signal in coder.read(line)]
    assert signals[-1] == Said("deaf now")
    assert isinstance(signals[1], Said)
    orphan = psutil.Process(int(re.findall(r"\d+", signals[1].text)[0]))
    held.terminate()
    assert held.poll() is None
    assert os.getsid(orphan.pid) == orphan.pid
    orphan.kill()


def test_a_spinning_agent_keeps_a_processor_busy(stage: Stage) -> None:
    prompt = "```fleet\nspin\n```"
    with stage.begin(prompt) as agent:
        assert agent.stdin
        agent.stdin.write(said(prompt))
        agent.stdin.close()
        times = iter(lambda: psutil.Process(agent.pid).cpu_times().user, None)
        assert any(seconds > 0.2 for seconds in times)
        agent.kill()


def talk(stage: Stage, script: str, *lines: str, run: int = 1) -> list[Signal]:
    """Run a script with these lines on its stdin after the prompt."""
    prompt = f"```fleet\n{script}\n```"
    agent = stage.begin(prompt, run, None if run == 1 else "t1.1")
    out, _ = agent.communicate("".join([said(prompt), *(f"{line}\n" for line in lines)]), 20)
    assert agent.returncode == 0
    return [signal for line in out.splitlines() for signal in coder.read(line)][1:]


def test_a_step_it_wants_leave_for_is_done_when_it_is_allowed(stage: Stage) -> None:
    wants = Wants("want-1", "append", "log", paths=("log",))
    allowed = coder.permit(wants, allowed=True)
    assert talk(stage, "want append log one", allowed) == [wants, Changed("log", "added"), DONE]
    assert stage.file("log") == "one\n"


@pytest.mark.parametrize("why", ["use make", ""])
def test_a_step_it_has_no_leave_for_is_not_done_and_the_script_goes_on(
    stage: Stage, why: str
) -> None:
    wants = Wants("want-1", "shell", "touch a")
    denied = coder.permit(wants, allowed=False, why=why)
    told = f"I may not shell: {why or 'no reason given'}"
    assert talk(stage, "want shell touch a\nsay on", denied) == [
        wants,
        Said(told),
        Said("on"),
        DONE,
    ]
    assert not (stage.work / "a").exists()


def test_each_wish_has_a_name_and_a_message_in_between_waits(stage: Stage) -> None:
    asked = [Wants("want-1", "say", "a"), Wants("want-2", "say", "b")]
    lines = [
        coder.say("m1", "words:\n````message\nmind ```x```\n````"),
        *(coder.permit(wants, allowed=True) for wants in asked),
    ]
    script = "want say a\nwant say b\nlisten\nsay heard {{message}}"
    assert talk(stage, script, *lines) == [
        *(asked[0], Said("a"), asked[1], Said("b"), Said("heard mind ```x```")),
        DONE,
    ]


def test_a_message_in_the_prompt_is_heard_first(stage: Stage) -> None:
    prompt = "```fleet\nlisten\nsay {{message}}\n```\n```message\nhello\n```"
    assert stage.prompt(prompt) == (0, [Said("hello"), DONE])


def test_a_message_after_the_end_begins_another_turn(stage: Stage) -> None:
    assert talk(stage, "say hi", coder.say("m1", "wait")) == [
        Said("hi"),
        DONE,
        Said("Heard after the end: wait"),
        DONE,
    ]


def test_to_listen_when_no_more_is_said_is_a_mistake(stage: Stage) -> None:
    played = stage.script("listen")
    assert played == (1, [Broke("line 1, listen: there was no message")])


def test_a_session_goes_on_after_its_question_and_repeats_nothing(stage: Stage) -> None:
    script = "append log one\nask Which port? | 8080 | 9090\nappend log 'port {{answer}}'"
    asked = stage.script(script)
    assert asked == (0, [Changed("log", "added"), Asks("Which port?", ("8080", "9090"))])
    answered = f"```fleet\n{script}\n```\nThe answer:\n```answer\n9090\n```"
    assert stage.prompt(answered, run=2, resume="t1.1") == (0, [Changed("log"), DONE])
    assert stage.file("log") == "one\nport 9090\n"


def test_a_session_can_be_resumed_more_than_once_with_the_latest_answer(stage: Stage) -> None:
    block = "```fleet\nask First?\nask Second?\nwrite log {{answer}}\n```\n"
    stage.prompt(block)
    again = stage.prompt(block + "```answer\none\n```", run=2, resume="t1.1")
    assert again.signals == [Asks("Second?")]
    stage.prompt(block + "```answer\none\n```\n```answer\ntwo\n```", run=3, resume="t1.1")
    assert stage.file("log") == "two\n"


def test_a_session_that_hit_a_limit_goes_on_after_it(stage: Stage) -> None:
    script = "write a one\nlimit 1\nwrite b two"
    stage.script(script)
    assert stage.script(script, run=2, resume="t1.1").signals == [Changed("b", "added"), DONE]


def test_a_session_without_notes_starts_from_the_beginning_and_says_so(stage: Stage) -> None:
    (stage.home / "runs" / "t1.1").mkdir(parents=True)
    played = stage.script("say hi", run=2, resume="t1.1")
    assert "starting from the beginning" in str(played.signals[0])
    assert played.signals[1:] == [Said("hi"), DONE]


def test_an_attempt_does_its_own_section_and_later_ones_the_last_before_them(
    stage: Stage,
) -> None:
    script = "say plain\non attempt 2\nsay second\non attempt 4\nsay fourth"
    said = [stage.script(script, run=run).signals[0] for run in range(1, 6)]
    assert said == [Said(w) for w in ("plain", "second", "second", "fourth", "fourth")]


def test_a_resumed_session_stays_in_the_section_it_began_in(stage: Stage) -> None:
    script = "ask Go on?\nsay still plain\non attempt 2\nsay second"
    stage.script(script)
    resumed = stage.script(script, run=2, resume="t1.1")
    assert resumed.signals == [Said("still plain"), DONE]


def test_a_prompt_without_a_script_names_the_way_out(stage: Stage) -> None:
    [broke] = stage.prompt("Just some words").signals
    assert isinstance(broke, Broke)
    assert broke.reason == "coder_missing"
    assert "--coder" in broke.text


def test_a_script_may_be_indented_and_hold_fences_of_its_own(stage: Stage) -> None:
    prompt = (
        "- item\n  ````fleet\n  write a.md <<END\n  ```sh\n    ls\n  ```\n  END\n  ````\n"
        "```fleet\nsay only the first script counts\n```"
    )
    assert stage.prompt(prompt).signals == [Changed("a.md", "added"), DONE]
    assert stage.file("a.md") == "```sh\n  ls\n```\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("wirte a b", "line 2: no step wirte; use one of: write, append"),
        ("write a.txt", "line 2: wrong arguments for write: a.txt"),
        ("say", "line 2: wrong arguments for say: none"),
        ("write a 'b", "line 2: No closing quotation in: a 'b"),
        ("write a <<END", "line 2: this text has no end: a line with only END is missing"),
        ("on monday", "line 2: write `on attempt 2`, not `on monday`"),
    ],
)
def test_a_script_with_a_mistake_does_nothing_at_all(stage: Stage, line: str, problem: str) -> None:
    played = stage.script(f"write first.txt x\n{line}")
    assert played.code == 1
    [broke] = played.signals
    assert isinstance(broke, Broke)
    assert broke.text.startswith(problem)
    assert not (stage.work / "first.txt").exists()


@pytest.mark.parametrize(
    "line", ["ignore SIGNOTHING", "usage money=3", "usage input=x", "wait a b c", "limit soon x"]
)
def test_a_step_given_nonsense_breaks_with_a_sentence(stage: Stage, line: str) -> None:
    played = stage.script(line)
    assert played.code == 1
    assert isinstance(played.signals[-1], Broke)


def test_every_step_is_in_the_manual_at_the_top_of_the_program() -> None:
    manual = re.findall(r"^    ([\w-]+) .*$", str(scripted_agent.__doc__), re.MULTILINE)
    assert set(script_steps.STEPS) <= set(manual)
    assert set(script_steps.STEPS) == set(script_text.TAKES)


def test_nothing_of_a_session_stays_in_the_worktree(stage: Stage) -> None:
    stage.script("say hi")
    assert list(stage.work.iterdir()) == []
