"""The words that a task is found by, and those that are searched for."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefleet.domain import search
from tests.store.samples import task


def words(text: str) -> list[str]:
    return search.kept(task("a", title="x", prompt=text)).split()[1:]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Fix it, fix IT!", ["fix", "it"]),
        ("find_similar-tasks", ["find", "similar", "tasks"]),
        ("TaskQuery and HTTPServer", ["taskquery", "and", "httpserver", "query", "server"]),
        ("v2 at 10:30", ["v2", "at", "10", "30"]),
        ("登录API", ["登录api", "录api", "api"]),
        ("!?", []),
    ],
)
def test_a_text_has_these_words(text: str, kept: list[str]) -> None:
    assert words(text) == kept


def test_every_word_stands_between_spaces() -> None:
    assert search.kept(task("a", title="Mend it", labels=("ui",))) == " mend it ui "
    assert search.asked("UI mend it") == [" ui ", " mend", " it "]
    assert search.asked("?!") == []


def test_what_is_asked_for_is_in_what_is_kept_however_long_the_word() -> None:
    for long in ("x" * 500, "错" * 500, "aB" * 300, "Straße" * 50):
        (asked,) = search.asked(long)
        assert asked in search.kept(task("a", prompt=f"a {long} b"))


def test_the_words_of_the_longest_prompt_are_not_too_many_for_any_store() -> None:
    worst = "".join(chr(0x4E00 + number % 20_000) for number in range(1_000_000))
    assert len(search.kept(task("a", prompt=worst)).encode()) < 900_000


@pytest.mark.parametrize("letters", ["錯字", "錯字\u10d0\u10d1", "錯字\U00016f00\U00016f01"])
def test_the_words_of_the_strangest_labels_are_not_too_many_for_any_store(letters: str) -> None:
    chance = Random(letters)
    strange = tuple("".join(chance.choices(letters, k=200)) for _ in range(500))
    kept = search.kept(task("a", title="First", labels=strange))
    assert len(kept.encode()) < 1_048_575
    assert kept.startswith(" first ")
    assert kept[-2:].strip() == kept[-2]


def test_a_question_has_an_end() -> None:
    assert len(search.asked(" ".join(f"word{number}" for number in range(500)))) == 20


def test_the_mark_differs_when_the_words_do_and_stays_when_anything_else_changes() -> None:
    one = task("a", title="Mend it", prompt="Now", labels=("ui",))
    assert search.mark(one) == search.mark(one.evolve(version=7, priority=5, note="tried"))
    for other in ({"title": "Mend"}, {"prompt": "Not"}, {"labels": ()}):
        assert search.mark(one) != search.mark(one.evolve(**other))
    assert search.mark(one.evolve(prompt="\ud800")) != search.mark(one)


@given(st.text(st.characters(max_codepoint=127)))
def test_a_plain_text_has_the_same_words_by_the_quick_way(text: str) -> None:
    assert search._words(text) == re.findall(search._WORD, text.casefold())
