"""Which words find a task? Both sides of a text search: what is stored, and what is asked.

A task has the words of its title, of its labels and of the beginning of its prompt, regardless of
case. A search word matches every word that begins with it; one of one or two letters matches only
itself. The stores keep the words as text: `kept` and `asked` change only with a migration.
"""

import re
from collections.abc import Iterable, Iterator
from zlib import crc32

from codefleet.domain.model import Task

READ = 20_000
"""How many characters of a prompt are searched: what people write, not the logs they paste."""
MOST_KEPT = 250_000
"""How many characters of words are kept at most: a PostgreSQL index takes up to a megabyte."""
MOST_ASKED = 20
SHORT, LONG, RUN = 3, 40, 8

_SMALL = bytes(ord(chr(b).lower()) if b < 128 and chr(b).isalnum() else 32 for b in range(256))
_SHAPE = bytes(
    ord("A") if 65 <= b <= 90 else ord("a") if small != 32 else 32 for b, small in enumerate(_SMALL)
)
# Compiled only when needed, because most commands do not search.
_WORD = r"[^\W_]+"
_HUMP = r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"


def kept(task: Task) -> str:
    """The words of a task, each once, with a space before and after it."""
    return words_in(" ".join((task.title, *task.labels, task.prompt[:READ])))


def words_in(text: str) -> str:
    """The words of a text, each once, with a space before and after it."""
    plain = _plain(text)
    words = dict.fromkeys(map(_cut, dict.fromkeys(_words(plain))))
    if not plain.isascii() or _may_have_humps(plain):  # otherwise no word needs a closer look
        words |= dict.fromkeys(_parts(dict.fromkeys(re.findall(_WORD, plain))))
    found = f" {' '.join(words)} "
    return found if len(found) <= MOST_KEPT else found[: found.rindex(" ", 0, MOST_KEPT) + 1]


def mark(task: Task) -> int:
    """A number that changes if a task's words may have changed; cheaper than finding the words."""
    text = "\n".join((task.title, *task.labels, task.prompt[:READ])).encode(errors="replace")
    return len(text) << 32 | crc32(text)


def asked(text: str) -> list[str]:
    """The words of a query, each as it must occur in what is kept."""
    words = dict.fromkeys(map(_cut, _words(_plain(text))))
    return [_as_kept(word) for word in list(words)[:MOST_ASKED]]


def _as_kept(word: str) -> str:
    is_whole = len(word) < SHORT and word.isascii()
    return f" {word} " if is_whole else f" {word}"


def _words(plain: str) -> list[str]:
    """The words of a text in lower case; for ASCII in a tenth of the time."""
    if plain.isascii():
        return plain.encode().translate(_SMALL).decode().split()
    return re.findall(_WORD, plain.casefold())


def _plain(text: str) -> str:
    """An accented letter is one letter, however it was typed."""
    if text.isascii():
        return text
    from unicodedata import normalize  # imported here, because it is large and rarely needed

    return normalize("NFKC", text)


def _may_have_humps(plain: str) -> bool:
    """A cheap check of ASCII text before the expensive one."""
    shape = plain.encode().translate(_SHAPE)
    return b"aA" in shape or b"AAa" in shape


def _parts(words: Iterable[str]) -> Iterator[str]:
    """The parts of words: `TaskQuery` is also found by `query`."""
    for word in words:
        if not word.isascii():
            folded = word.casefold()
            yield from (_cut(folded[at:]) for at in _borders(folded))
        elif len(word) <= LONG:
            yield from (word[at.start() :].lower() for at in re.finditer(_HUMP, word))


def _borders(word: str) -> Iterator[int]:
    """Where another word may begin in a language without spaces: at each letter."""
    for at in range(1, len(word)):
        if _is_unspaced(word[at]) or _is_unspaced(word[at - 1]):
            yield at


def _is_unspaced(letter: str) -> bool:
    """Is it Japanese, Chinese or Korean? Compared, since such a regex is slow to compile."""
    return "\u3040" <= letter <= "\ud7af"


def _cut(word: str) -> str:
    """The part of a word that is compared."""
    if len(word) <= RUN:
        return word
    return word[: RUN if _is_unspaced(word[0]) else LONG]
