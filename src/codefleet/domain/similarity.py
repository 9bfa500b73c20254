"""Which tasks say nearly the same? By words only; the answer is a hint, never a verdict."""

import re
from collections.abc import Iterable
from itertools import combinations

from codefleet.domain.model import Task

ALIKE = 0.6
NEAR = 0.25
READ = 2000
SHORTEST = 4
MOST = 3
SMALL = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "the", "to"))


def similar(title: str, tasks: Iterable[Task]) -> list[Task]:
    """The tasks whose titles share most of their words with this one, most alike first."""
    ours = words_of(title)
    scored = ((_alike(ours, words_of(task.title)), task) for task in tasks)
    close = sorted((pair for pair in scored if pair[0] >= ALIKE), key=lambda pair: -pair[0])
    return [task for _, task in close[:MOST]]


def ranked(query: str, tasks: Iterable[Task], limit: int) -> list[tuple[float, Task]]:
    """The tasks nearest to a query, by words and by the letters they share, best first."""
    words, letters = words_of(query), _trigrams(query)
    scored = ((_near(words, letters, task), task) for task in tasks)
    near = sorted((pair for pair in scored if pair[0] >= NEAR), key=lambda pair: -pair[0])
    return near[:limit]


def telling(query: str) -> list[str]:
    """What to search for to find tasks that say nearly this, most specific first.

    The longest words say most, since they are the rarest, and several together say more than one.
    Each is cut to its beginning, so that `validate` finds `validation`.
    """
    longest = sorted(words_of(query), key=lambda word: (-len(word), word))[:MOST]
    begun = [word[: max(SHORTEST, len(word) * 3 // 4)] for word in longest]
    together = (combinations(begun, many) for many in range(len(begun), 0, -1))
    return [" ".join(words) for some in together for words in some]


def _near(words: frozenset[str], letters: frozenset[str], task: Task) -> float:
    """How much of the query a task has: its title counts most, the rest less."""
    title, rest = task.title, task.prompt[:READ]
    found = max(_share(words, words_of(title)), 0.8 * _share(words, words_of(rest)))
    spelt = max(_share(letters, _trigrams(title)), 0.8 * _share(letters, _trigrams(rest)))
    return round((found + spelt) / 2, 3)


def _share(ours: frozenset[str], theirs: frozenset[str]) -> float:
    return len(ours & theirs) / len(ours) if ours else 0.0


def _trigrams(text: str) -> frozenset[str]:
    plain = " ".join(re.findall(r"\w+", text.lower()))
    return frozenset(plain[at : at + 3] for at in range(max(1, len(plain) - 2)))


def _alike(ours: frozenset[str], theirs: frozenset[str]) -> float:
    both = ours | theirs
    return len(ours & theirs) / len(both) if both else 0.0


def words_of(text: str) -> frozenset[str]:
    """The words of a text in small letters, without the smallest words."""
    return frozenset(re.findall(r"\w+", text.lower())) - SMALL
