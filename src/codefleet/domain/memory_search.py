"""Which memories a query finds, and which fit a task. By words only."""

from collections import Counter
from collections.abc import Iterable, Sequence

from codefleet.domain import search
from codefleet.domain.model import Memory
from codefleet.domain.similarity import words_of

MOST_FITTING = 5
LEAST_SHARED = 2
SHORTEST_WORD = 3


def matching(query: str, memories: Iterable[Memory]) -> list[Memory]:
    """Those that have all words of a query, also as beginnings of longer words; newest first."""
    asked = search.asked(query)
    found = [it for it in memories if asked and all(w in search.words_in(it.text) for w in asked)]
    return sorted(found, key=lambda it: it.stored_at, reverse=True)


def fitting(text: str, memories: Sequence[Memory]) -> list[Memory]:
    """The few that share the most telling words with a text: rare words tell more."""
    wanted = {word for word in words_of(text) if len(word) >= SHORTEST_WORD}
    words = {it.id: words_of(it.text) & wanted for it in memories}
    spread = Counter(word for shared in words.values() for word in shared)
    scores = {
        it.id: sum(1 / spread[word] for word in words[it.id])
        for it in memories
        if len(words[it.id]) >= LEAST_SHARED
    }
    best = sorted((it for it in memories if it.id in scores), key=lambda it: -scores[it.id])
    return best[:MOST_FITTING]
