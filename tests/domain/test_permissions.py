"""The policy: deny wins, then ask, then allow; and no clever command line gets around that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain.model import Question, QuestionId, RunId, TaskId
from codefleet.domain.permissions import (
    Answer,
    Decision,
    Rule,
    Ruling,
    answer_in,
    decide,
    judge,
    remembered,
)
from tests.domain.samples import NOON

TOOLS = st.sampled_from(["Bash", "Write", "mcp__db__query", "shell"])
DETAILS = st.one_of(
    st.sampled_from(["git status", "git push", "rm -rf /", "src/a.py", "../etc", ""]),
    st.text(max_size=20),
)
GLOBS = st.sampled_from(["*", "git *", "rm *", "src/*", "*.py", "git status", "[!g]*"])
RULES = st.builds(
    Rule,
    tool=st.sampled_from(["*", "Bash", "Write", "mcp__*"]),
    match=GLOBS,
    then=st.sampled_from(Ruling),
)
STRICTNESS = [Ruling.ALLOW, Ruling.ASK, Ruling.DENY]


def allow(match: str, tool: str = "Bash") -> Rule:
    return Rule(tool=tool, match=match, then=Ruling.ALLOW)


def deny(match: str, tool: str = "Bash") -> Rule:
    return Rule(tool=tool, match=match, then=Ruling.DENY)


@given(TOOLS, DETAILS)
def test_without_rules_a_human_is_asked(tool: str, detail: str) -> None:
    assert judge([], tool, detail) == Decision(Ruling.ASK)


@given(st.lists(RULES, max_size=6), TOOLS, DETAILS, st.randoms())
def test_the_order_of_rules_means_nothing(rules, tool, detail, chance) -> None:  # type: ignore[no-untyped-def]
    shuffled = chance.sample(rules, len(rules))
    assert judge(rules, tool, detail).ruling is judge(shuffled, tool, detail).ruling


@given(st.lists(RULES, max_size=6), RULES, TOOLS, DETAILS)
def test_one_more_rule_to_deny_or_ask_never_gives_more_leave(
    rules: list[Rule], more: Rule, tool: str, detail: str
) -> None:
    before, after = judge(rules, tool, detail).ruling, judge([*rules, more], tool, detail).ruling
    if more.then is not Ruling.ALLOW:
        assert STRICTNESS.index(after) >= STRICTNESS.index(before)
    else:
        assert STRICTNESS.index(after) <= STRICTNESS.index(before)


@given(st.lists(RULES, max_size=6), TOOLS, DETAILS)
def test_what_a_rule_denies_is_denied_whatever_else_is_said(
    rules: list[Rule], tool: str, detail: str
) -> None:
    ruled = judge([*rules, deny("*", "*")], tool, detail)
    assert ruled.ruling is Ruling.DENY


@given(DETAILS, st.sampled_from(["; ", " && ", " || ", " | ", "\n", " & ", "&&"]), DETAILS)
def test_a_command_line_has_no_more_leave_than_any_of_its_commands(
    one: str, between: str, other: str
) -> None:
    rules = [allow("git *"), allow("src/*"), deny("git push*")]
    joined = judge(rules, "Bash", f"{one}{between}{other}").ruling
    for part in (one, other):
        alone = judge(rules, "Bash", part).ruling
        if part.strip(" \t\r\n({;&|"):
            assert STRICTNESS.index(joined) >= STRICTNESS.index(alone)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log | git shortlog",
        "git fetch && git status",
        "git status 2>&1",
        "git status 2>/dev/null; git log > /dev/null",
    ],
)
def test_a_command_made_of_what_is_allowed_is_allowed(command: str) -> None:
    assert judge([allow("git *")], "Bash", command) == Decision(Ruling.ALLOW, "allow Bash git *")


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf /",
        "git status && curl x | sh",
        "git log > ~/.bashrc",
        "git log >/dev/nullify",
        "git log >&1file",
        "git log $(rm x)",
        "git log `rm x`",
        "git log <(rm x)",
        "git status & rm x",
        "git status\nrm x",
        "gitx status",
        "git",
    ],
)
def test_a_command_that_carries_another_is_not_allowed_with_it(command: str) -> None:
    assert judge([allow("git *")], "Bash", command).ruling is Ruling.ASK


@pytest.mark.parametrize(
    "command",
    ["rm x", "cd y && rm x", "ls; rm x", "echo $(rm x)", "echo `rm x`", "(rm x)", "ls | rm x"],
)
def test_a_denied_command_is_found_wherever_it_stands(command: str) -> None:
    assert judge([allow("*"), deny("rm *")], "Bash", command) == (Ruling.DENY, "deny Bash rm *")


def test_a_rule_for_one_tool_says_nothing_of_another() -> None:
    rules = [allow("*", "Read"), allow("*", "mcp__docs__*")]
    assert judge(rules, "Read", "/etc/passwd").ruling is Ruling.ALLOW
    assert judge(rules, "mcp__docs__find", "").ruling is Ruling.ALLOW
    assert judge(rules, "Write", "/etc/passwd").ruling is Ruling.ASK


def asked(answer: str | None, tool: str = "Bash", detail: str = "make") -> Question:
    return Question(
        id=QuestionId("q"),
        task=TaskId("t"),
        run=RunId("t.1"),
        text="May it?",
        tool=tool,
        detail=detail,
        asked_at=NOON,
        answer=answer,
        answered_at=NOON if answer else None,
    )


def test_an_answer_holds_for_the_same_request_and_always_for_the_same_tool() -> None:
    assert remembered([asked("allow")], "Bash", "make") == Decision(Ruling.ALLOW, "allow")
    assert remembered([asked("allow")], "Bash", "make install") is None
    assert remembered([asked("allow")], "Write", "make") is None
    assert remembered([asked("always")], "Bash", "make install") == (Ruling.ALLOW, "always")
    assert remembered([asked("always")], "Write", "make") is None
    assert remembered([asked("deny: no")], "Bash", "make") == (Ruling.DENY, "deny: no")
    assert remembered([asked("deny")], "Bash", "make install") is None
    assert remembered([asked(None)], "Bash", "make") is None


def test_the_last_answer_counts() -> None:
    assert remembered([asked("deny"), asked("allow")], "Bash", "make") == (Ruling.ALLOW, "allow")
    assert remembered([asked("always"), asked("deny")], "Bash", "make") == (Ruling.DENY, "deny")


@given(st.sampled_from(["deny", "ask", "allow"]), st.sampled_from(["allow", "always", "deny"]))
def test_humans_are_heard_only_where_the_rules_leave_it_to_them(then: str, answer: str) -> None:
    rules = [Rule(then=Ruling(then))]
    decision = decide(rules, [asked(answer)], "Bash", "make")
    if then == "ask":
        assert decision.why == answer
    else:
        assert decision == Decision(Ruling(then), f"{then} * *")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("allow", Answer.ALLOW),
        ("Yes, please", Answer.ALLOW),
        ("ALWAYS", Answer.ALWAYS),
        (" deny: use git mv", Answer.DENY),
        ("no", Answer.DENY),
        ("nobody knows", None),
        ("perhaps allow", None),
        ("", None),
    ],
)
def test_an_answer_is_its_first_word(words: str, answer: Answer | None) -> None:
    assert answer_in(words) is answer


@pytest.mark.parametrize("written", ["bash", "BASH", "Bash", "ba*"])
def test_a_rule_fits_its_tool_however_the_name_is_written(written: str) -> None:
    assert judge([deny("*", tool=written), allow("*")], "Bash", "ls").ruling is Ruling.DENY
    assert judge([deny("RM *", tool=written), allow("*")], "Bash", "rm x").ruling is Ruling.ALLOW
