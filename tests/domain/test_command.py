"""Commands that run without a shell: what is refused before it costs a run."""

import pytest

from codefleet.domain import command
from codefleet.domain.errors import Invalid


@pytest.mark.parametrize(
    "text",
    [
        "make test",
        "pytest -q -k 'a and b'",
        "sh -c 'make && make test; echo done > log'",
        'grep -c "a | b" file',
        "grep --regexp='x > y' file",
        r"find . -name '*.py' -exec head {} \;",
        "grep '|' file",
        "pip install tool>=2",
        "curl http://here/?a=1&b=2",
        "echo it\\'s",
    ],
)
def test_a_command_for_one_program_is_taken(text: str) -> None:
    command.valid([text])


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_command_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="empty"):
        command.valid(["make", text])


@pytest.mark.parametrize("text", ["echo 'a", 'echo "a', "echo \\"])
def test_a_quote_without_its_end_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="unclosed quote"):
        command.valid([text])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("true && true", "&&"),
        ("true || true", "||"),
        ("ls | wc", "|"),
        ("true ; true", ";"),
        ("cd src; make", "src;"),
        ("make > log", ">"),
        ("make >> log", ">>"),
        ("make 2>&1", "2>&1"),
        ("make >log", ">log"),
        ("make &>log", "&>log"),
        ("sort < file", "<"),
        ("serve &", "&"),
        ("echo 'a' && echo \"b\"", "&&"),
    ],
)
def test_what_only_a_shell_obeys_is_refused_with_the_way_to_get_a_shell(
    text: str, word: str
) -> None:
    with pytest.raises(Invalid) as refused:
        command.valid([text])
    assert repr(word) in refused.value.problem
    assert "sh -c '...'" in refused.value.hint
