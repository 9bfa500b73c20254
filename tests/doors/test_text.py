"""Text for terminals: it cannot affect the terminal, and columns line up."""

import json
import os

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.doors.cli import text

INVISIBLE = "\u061c\u2060\u2064\ufeff"
FILLED = {
    "a\u3164b": "a<U+3164>b",
    "\u115f\u1160\uffa0\u2800": "<U+115F><U+1160><U+FFA0><U+2800>",
    "a\ufe00b\U000e0100c": "a<U+FE00>b<U+E0100>c",
    "a\U000e0041": "a<U+E0041>",
    "\u2764\ufe0f, \U0001f6e0\ufe0f": "\u2764\ufe0f, \U0001f6e0\ufe0f",
    "a\ufe0f \u2764\ufe0f\ufe0f": "a<U+FE0F> \u2764\ufe0f<U+FE0F>",
}


@given(st.text())
def test_a_cleaned_line_holds_nothing_that_a_terminal_obeys(hostile: str) -> None:
    cleaned = text.clean(hostile)
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in cleaned)
    assert not set(cleaned) & set("\u202a\u202e\u2066\u2069\u200b\u2028")
    assert text.clean(f"a{INVISIBLE}b") == "ab"
    cleaned.encode()


@pytest.mark.parametrize(("hostile", "shown"), FILLED.items())
def test_what_is_printed_as_nothing_is_spelled_out(hostile: str, shown: str) -> None:
    assert text.clean(hostile) == text.clean_lines(hostile) == shown
    spelled = text.inert(json.dumps(hostile, ensure_ascii=False))
    assert (json.loads(spelled), "\ufe0f" in spelled) == (hostile, False)


def test_control_characters_are_shown_not_obeyed() -> None:
    assert text.clean("a\x1b[31mb\r\nc\x07") == "a␛[31mb␍␊c␇"


def test_several_lines_stay_several_lines() -> None:
    assert text.clean_lines("a\n\tb\x1b") == "a\n\tb␛"


@pytest.mark.parametrize(
    ("said", "columns"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🚀", 2), ("\x1b[31mab\x1b[0m", 2)],
)
def test_width_counts_columns_and_not_characters(said: str, columns: int) -> None:
    assert text.width(said) == columns


@given(st.text(alphabet="ab日🚀e\u0301", max_size=30), st.integers(2, 30))
def test_a_fitted_text_is_never_wider_than_its_room(said: str, columns: int) -> None:
    assert text.width(text.fit(said, columns)) <= columns


def test_what_is_piped_is_not_cut() -> None:
    drawn = text.table(("ID", "TITLE"), [("a", "x" * 500)], stretch=(1,))
    assert "x" * 500 in drawn


def test_in_a_narrow_room_the_stretched_column_gives_way() -> None:
    drawn = text.table(("ID", "TITLE", "WHY"), [("a", "日" * 50, "because")], stretch=(1,), room=40)
    assert {text.width(line) <= 40 for line in drawn.splitlines()} == {True}
    assert drawn.splitlines()[1].endswith("because")


def test_a_brief_text_is_its_first_line_and_says_when_there_is_more() -> None:
    assert [text.brief(said) for said in ("", "a", "\na\nb")] == ["", "a", "a …"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(-1, "0 s"), (59, "59 s"), (60, "1 min"), (7200, "2 h"), (172800, "2 d")]
)
def test_a_time_span_is_said_shortly(seconds: float, said: str) -> None:
    assert text.duration(seconds) == said


def test_the_width_of_a_terminal_is_known_only_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "COLUMNS", "72")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert text.terminal_width() == 72


@given(st.text())
def test_json_means_the_same_and_has_nothing_that_a_terminal_obeys(hostile: str) -> None:
    said = f"{hostile}\x9b31m\u202e{INVISIBLE}"
    shown = text.inert(json.dumps({"text": said}, ensure_ascii=False))
    assert json.loads(shown) == {"text": said}
    assert not any(0x7F <= ord(c) < 0xA0 or c in INVISIBLE or c == "\u202e" for c in shown)


def test_where_shrinking_is_not_enough_the_last_free_column_goes_below_its_row() -> None:
    rows = [("1", "agent-1", "12,345 tokens", "checks failed: all of it"), ("2", "b", "-", "")]
    drawn = text.table(("RUN", "AGENT", "COST", "NOTE"), rows, stretch=(3,), room=30).splitlines()
    assert [click.unstyle(line) for line in drawn] == [
        "RUN  AGENT    COST",
        "1    agent-1  12,345 tokens",
        "    checks failed: all of it",
        "2    b        -",
    ]
