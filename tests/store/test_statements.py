"""Every engine has the same statements by name, in the same order, each with a reason."""

from pathlib import Path

import pytest

import codefleet.store
from codefleet.store import statements

FILES = sorted(Path(codefleet.store.__file__).parent.glob("*/queries.sql"))


def test_the_engines_have_the_same_statements_in_the_same_order() -> None:
    first, *others = FILES
    assert others
    for other in others:
        assert list(statements.read(first)) == list(statements.read(other))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_statement_says_why_it_is_so(file: Path) -> None:
    for block in file.read_text().split("-- name: ")[1:]:
        assert block.splitlines()[1].startswith("-- "), block


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_migrations_are_numbered_without_gaps(file: Path) -> None:
    numbers = [int(step.name[:3]) for step in sorted((file.parent / "migrations").glob("*.sql"))]
    assert numbers == list(range(1, len(numbers) + 1))
