"""Facts about models, such as prices and context windows, found by the models' names."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

VERSION = re.compile(r"(\[[^\]]*\]|[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-latest)+$")
"""What providers append to a model's name: a date, a context size."""

Fact = TypeVar("Fact")


def find(model: str | None, tables: Sequence[Mapping[str, Fact]]) -> Fact | None:
    """What the first table that knows the model has for it; the most specific name wins.

    A `*` in a table's name stands for anything.
    """
    plain = VERSION.sub("", (model or "").lower().rpartition("/")[2])
    for table in tables:
        fitting = [name for name in table if plain and fnmatchcase(plain, _pattern(name))]
        if fitting:
            return table[max(fitting, key=lambda name: (len(name), name))]
    return None


def _pattern(name: str) -> str:
    """Only the star is special: names of models contain brackets."""
    return re.sub(r"([\[?])", r"[\1]", name.lower())
