"""The fleet's line protocol: every kind of line, and lines that mean nothing."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.coders import jsonl
from codefleet.domain.model import Usage
from codefleet.domain.signals import (
    Asks,
    Broke,
    Changed,
    Filled,
    Finished,
    Limited,
    Said,
    Signal,
    Started,
    Thought,
    Tool,
    Used,
    Wants,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

KNOWN: list[tuple[dict[str, Any], Signal]] = [
    ({"type": "started"}, Started()),
    ({"type": "started", "session": "s", "model": "m"}, Started("s", "m")),
    ({"type": "said", "text": "Hello"}, Said("Hello")),
    ({"type": "said", "text": "Hello", "more": True}, Said("Hello", more=True)),
    ({"type": "thought", "text": "Where is it?"}, Thought("Where is it?")),
    ({"type": "tool", "name": "shell"}, Tool("shell")),
    (
        {"type": "tool", "name": "shell", "done": True, "call": "c1", "result": "two\n"},
        Tool("shell", done=True, call="c1", result="two\n"),
    ),
    ({"type": "tool", "name": "shell", "detail": "ls", "done": True}, Tool("shell", "ls", True)),
    ({"type": "file", "path": "src/a.py"}, Changed("src/a.py")),
    ({"type": "file", "path": "a.py", "change": "added"}, Changed("a.py", "added")),
    ({"type": "file", "path": "a.py", "change": ["odd"]}, Changed("a.py")),
    ({"type": "usage"}, Used(Usage())),
    (
        {"type": "usage", "input_tokens": 5, "output_tokens": 2, "cost_usd": 0.25},
        Used(Usage(input_tokens=5, output_tokens=2, cost_usd=0.25)),
    ),
    ({"type": "usage", "cached_tokens": 7}, Used(Usage(cached_tokens=7))),
    ({"type": "context", "used": 90}, Filled(90)),
    ({"type": "context", "used": 90, "size": 100}, Filled(90, 100)),
    ({"type": "usage", "cost_usd": 2, "in_all": True}, Used(Usage(cost_usd=2.0), in_all=True)),
    ({"type": "limit", "text": "later"}, Limited("later")),
    ({"type": "limit", "resets_at": NOON.timestamp()}, Limited("", NOON)),
    ({"type": "limit", "resets_at": "2026-01-02T13:00:00+01:00"}, Limited("", NOON)),
    ({"type": "limit", "resets_at": "2026-01-02T12:00:00"}, Limited("", NOON)),
    ({"type": "asks", "text": "Which?"}, Asks("Which?")),
    ({"type": "asks", "text": "Which?", "options": ["a", "b"]}, Asks("Which?", ("a", "b"))),
    ({"type": "wants", "request": "1", "tool": "sh"}, Wants("1", "sh")),
    (
        {"type": "wants", "request": "1", "tool": "sh", "detail": "ls", "input": '{"a": 1}'},
        Wants("1", "sh", "ls", '{"a": 1}'),
    ),
    (
        {"type": "wants", "request": "1", "tool": "w", "paths": ["a", 1]},
        Wants("1", "w", paths=("a",)),
    ),
    ({"type": "finished"}, Finished()),
    ({"type": "finished", "text": "ok", "no_changes": True}, Finished("ok", True)),
    ({"type": "broke", "text": "no login", "reason": "auth"}, Broke("no login", "auth")),
]


@pytest.mark.parametrize(("line", "signal"), KNOWN)
def test_a_line_of_the_protocol_is_one_signal(line: dict[str, Any], signal: Signal) -> None:
    assert list(jsonl.read(json.dumps(line))) == [signal]


def test_every_kind_of_line_is_tried_here() -> None:
    assert {line["type"] for line, _ in KNOWN} == set(jsonl.READERS)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "{",
        "null",
        "[]",
        '"said"',
        "{}",
        '{"type": "unheard of"}',
        '{"type": ["said"]}',
        '{"type": "said"}',
        '{"type": "said", "text": 5}',
        '{"type": "tool"}',
        '{"type": "file", "path": null}',
        '{"type": "asks", "options": ["a"]}',
        '{"a":' * 100_000,
        '{"type": "usage", "input_tokens": ' + "9" * 5000 + "}",
    ],
)
def test_other_lines_mean_nothing(line: str) -> None:
    assert list(jsonl.read(line)) == []


@pytest.mark.parametrize("count", ["-1", "1e400", "NaN", "true", '"5"', "9" * 40])
def test_an_amount_that_cannot_be_is_not_counted(count: str) -> None:
    line = f'{{"type": "usage", "input_tokens": {count}, "cost_usd": {count}}}'
    assert list(jsonl.read(line)) == [Used(Usage())]


@pytest.mark.parametrize("moment", ["1e400", '"soon"', "NaN", "-1e20", '"0001-01-01T00:00+23:00"'])
def test_a_reset_that_is_no_moment_is_unknown(moment: str) -> None:
    assert list(jsonl.read(f'{{"type": "limit", "resets_at": {moment}}}')) == [Limited("")]


def test_a_reason_that_is_not_on_the_list_is_unknown() -> None:
    line = '{"type": "broke", "text": "x", "reason": "bad mood"}'
    assert list(jsonl.read(line)) == [Broke("x", "unknown")]
    assert list(jsonl.read('{"type": "broke", "reason": []}')) == [Broke("", "unknown")]


def test_half_a_character_can_be_stored_all_the_same() -> None:
    [said] = jsonl.read('{"type": "said", "text": "a\\ud83d!"}')
    assert said == Said("a?!")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    [
        *("text", "session", "model", "name", "detail", "done", "path", "options", "resets_at"),
        *("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "no_changes", "reason"),
    ]
)
objects = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(sorted(jsonl.READERS)),
    st.dictionaries(fields, json_values, max_size=6),
)


@given(objects)
def test_no_object_breaks_the_reading(line: dict[str, Any]) -> None:
    for signal in jsonl.read(json.dumps(line)):
        str(signal).encode()


@given(st.text())
def test_no_text_breaks_the_reading(line: str) -> None:
    assert list(jsonl.read(line)) == []
