"""File scopes: what they contain, and whether two of them overlap."""

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codefleet.domain import scope
from codefleet.domain.errors import Invalid

NAMES = ("a", "b", "ab", "a.b")
PATHS = ["/".join(names) for depth in (1, 2, 3) for names in product(NAMES, repeat=depth)]
"""Every path of up to three of four names: few enough to try all of them."""

plain_paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
whole_folders = plain_paths.map(lambda path: f"{path}/**")
WILD_NAMES = (
    "*",
    "?",
    "a*",
    "*b",
    "*.b",
    "a?",
    "?b",
    "[ab]",
    "[!a]",
    "a**",
    "\\a",
    "*\\b",
    "a\\.b",
)
segments = st.sampled_from((*NAMES, *WILD_NAMES, "**"))
globs = st.builds(
    "{}{}{}".format,
    st.sampled_from(("", "/", "./")),
    st.lists(segments, min_size=1, max_size=4).map("/".join),
    st.sampled_from(("", "", "/")),
)


def some_path_is_in_both(left: str, right: str) -> bool:
    return any(scope.matches([left], path) and scope.matches([right], path) for path in PATHS)


@given(globs, globs)
@example("a\\b", "ab")
@example("*.b", "a.b/")
@example("**/a", "b")
def test_two_globs_that_share_a_path_always_overlap(left: str, right: str) -> None:
    if some_path_is_in_both(left, right):
        assert scope.overlap([left], [right]) == (left, right)


def test_no_two_names_that_share_a_path_are_told_apart() -> None:
    names = [f"/{name}" for name in (*NAMES, *WILD_NAMES)]
    sharing = [(a, b) for a, b in product(names, repeat=2) if some_path_is_in_both(a, b)]
    assert [pair for pair in sharing if not scope.overlap(pair[:1], pair[1:])] == []


@given(plain_paths | whole_folders, plain_paths | whole_folders)
def test_plain_paths_and_whole_folders_overlap_exactly_when_they_share_a_path(
    left: str, right: str
) -> None:
    # A folder four levels deep contains paths deeper than those tried here, so add one level.
    shared = any(
        scope.matches([left], path) and scope.matches([right], path)
        for path in (*PATHS, f"{left.removesuffix('/**')}/x", f"{right.removesuffix('/**')}/x")
    )
    assert (scope.overlap([left], [right]) is not None) == shared


@given(globs, globs)
def test_it_does_not_matter_who_asks(left: str, right: str) -> None:
    assert (scope.overlap([left], [right]) is None) == (scope.overlap([right], [left]) is None)


@given(globs)
def test_every_glob_meets_itself_and_the_whole_repository(glob: str) -> None:
    assert scope.overlap([glob], [glob])
    assert scope.overlap([glob], ["**"])


@given(globs)
def test_a_glob_of_names_and_wild_cards_is_a_scope(glob: str) -> None:
    scope.valid([glob])


APART = """
    README.md         setup.py
    README.md         docs/README.md
    src               mail
    src/mail/**       src/web/**
    src/mail/**       src/mailbox.py
    src/*.py          src/*.md
    src/a*            src/b*
    src/[ab].py       src/c.py
    src/?.py          src/ab.py
    a/**/x.py         b/**/x.py
"""
MEETING = """
    README.md         README.md
    README.md         ./README.md
    README.md         /README.md
    src               src/mail/**
    src/              src/mail/a.py
    src/**            src/mail/a.py
    src/mail/**       src/*/a.py
    src/*.py          src/a*
    *.py              src/mail/**
    **/a.py           src/a.py
    a/**/x.py         a/x.py
    **                anything/at/all
    src//mail         src/mail
    app/\\[id\\].tsx  app/**
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(left, right) for left, right in map(str.split, text.strip().splitlines())]


@pytest.mark.parametrize(("left", "right"), pairs(APART))
def test_scopes_that_are_apart(left: str, right: str) -> None:
    assert scope.overlap([left], [right]) is None


@pytest.mark.parametrize(("left", "right"), pairs(MEETING))
def test_scopes_that_meet(left: str, right: str) -> None:
    assert scope.overlap([left], [right]) == (left, right)


def test_the_first_pair_that_meets_is_named() -> None:
    assert scope.overlap(["docs/**", "src/**"], ["web/**", "src/a.py"]) == ("src/**", "src/a.py")


def test_a_scope_of_nothing_meets_nothing_and_holds_nothing() -> None:
    assert scope.overlap([], ["**"]) is None
    assert not scope.matches([], "a")


def test_a_plain_path_holds_that_file_or_all_of_that_folder() -> None:
    assert scope.matches(["src/mail"], "src/mail")
    assert scope.matches(["src/mail"], "src/mail/send.py")
    assert not scope.matches(["src/mail"], "src/mailbox.py")
    assert not scope.matches(["README.md"], "docs/README.md")


def test_a_bare_glob_holds_files_at_any_depth() -> None:
    assert scope.matches(["*.py"], "a.py")
    assert scope.matches(["*.py"], "src/mail/a.py")
    assert not scope.matches(["/*.py"], "src/a.py")


def test_a_plain_path_may_be_a_folder_so_a_glob_at_any_depth_may_be_inside_it() -> None:
    assert scope.overlap(["*.md"], ["src/mail"])
    assert scope.overlap(["*.md"], ["src/app.py"])
    assert not scope.overlap(["src/*.md"], ["src/app.py"])


def test_an_escaped_bracket_is_a_bracket() -> None:
    assert scope.matches(["app/\\[id\\]/page.tsx"], "app/[id]/page.tsx")
    assert not scope.matches(["app/\\[id\\]/page.tsx"], "app/i/page.tsx")


def test_globs_made_to_be_slow_are_answered_all_the_same() -> None:
    stars = "/".join(["**", "a*"] * 200)
    assert scope.overlap([f"{stars}/x"], [f"{stars}/y"])


@pytest.mark.parametrize("glob", ["src/[z-a]", "src/\\", "src/[["])
def test_an_unreadable_glob_in_an_old_task_counts_as_a_match(glob: str) -> None:
    assert scope.overlap([glob], ["src/[ab]*"])
    assert not scope.overlap([glob], ["docs/a"])


def test_an_unreadable_range_does_not_stop_a_plain_path_from_being_asked_about() -> None:
    assert scope.overlap(["src/[z-a]"], ["src/a"])


NONSENSE = (
    *("", " ", "/", "//", ".", "./", "..", "../a", "a/../b", "!a", "#a", "!", "a\0b", "a\nb"),
    *("a\tb", "a ", " a", "\x1b[31m", "a\u202eb", "\udcff"),
    *("[", "a[", "[]", "[!]", "[a/b]", "[z-a]", "[[:alpha:]]", "[a--b]", "[[a]", "\\", "a\\"),
)


@pytest.mark.parametrize("glob", NONSENSE)
def test_nonsense_is_refused_with_a_hint(glob: str) -> None:
    with pytest.raises(Invalid) as refused:
        scope.valid(["src/**", glob])
    assert refused.value.problem == f"{glob!r} is not a file scope"
    assert "such as 'src/mail/**'" in refused.value.hint


ODD_BUT_REAL = (
    *(
        "a",
        "src/mail/**",
        "**",
        "*.py",
        "./a",
        "a b.txt",
        "--yolo",
        "$(touch x)",
        "Q&A.md",
        "ü/é😀",
    ),
    *("ü/é😀", "[a-z0-9_]*", "[!.]*", "[a-]", "app/\\[id\\]/*", "a]", "..a", "\\!a", "\\#a"),
)


@pytest.mark.parametrize("glob", ODD_BUT_REAL)
def test_odd_but_real_names_are_a_scope(glob: str) -> None:
    scope.valid([glob])


def test_names_that_differ_only_in_capitals_overlap_as_they_may_be_one_file() -> None:
    assert scope.overlap(["src/Mail/**"], ["SRC/mail/send.py"])
    assert scope.overlap(["[!a].txt"], ["A.txt"])
    assert not scope.matches(["src/Mail/**"], "src/mail/send.py")


def test_an_accent_is_the_same_however_it_is_encoded() -> None:
    composed, decomposed = "caf\u00e9.py", "cafe\u0301.py"
    assert scope.matches([decomposed], composed)
    assert scope.matches([composed], decomposed)
    assert scope.overlap([composed], [decomposed])
