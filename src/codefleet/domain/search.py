"""By which words is a task found? Both sides of a text search: what is kept, and what is asked.

A task has the words of its title, of its labels and of the beginning of its prompt, whatever their
case. A word that is asked for stands for every word that begins so; one of one or two letters only
for itself. The stores keep the words as text: `kept` and `asked` change only with a migration.
"""

import re
from collections.abc import Iterable, Iterator
from zlib import crc32

from codefleet.domain.model import Task

READ = 20_000
"""So many characters of a prompt are searched: what people write, not the logs they paste below."""
MOST_KEPT = 250_000
"""So many characters of words are kept at most: an index of PostgreSQL takes a megabyte of them."""
MOST_ASKED = 20
SHORT, LONG, RUN = 3, 40, 8

_SMALL = bytes(ord(chr(b).lower()) if b < 128 and chr(b).isalnum() else 32 for b in range(256))
_SHAPE = bytes(
    ord("A") if 65 <= b <= 90 else ord("a") if small != 32 else 32 for b, small in enumerate(_SMALL)
)
# Not compiled here, but when they are needed: most commands search for nothing.
_WORD = r"[^\W_]+"
_HUMP = r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"


def kept(task: Task) -> str:
    """The words of a task, each once, each with a space before and behind it."""
    plain = _plain(" ".join((task.title, *task.labels, task.prompt[:READ])))
    words = dict.fromkeys(map(_cut, dict.fromkeys(_words(plain))))
    if not plain.isascii() or _may_have_humps(plain):  # else there is no need to look at each word
        words |= dict.fromkeys(_parts(dict.fromkeys(re.findall(_WORD, plain))))
    found = f" {' '.join(words)} "
    return found if len(found) <= MOST_KEPT else found[: found.rindex(" ", 0, MOST_KEPT) + 1]


def mark(task: Task) -> int:
    """A number that differs when a task's words may differ, for less than it takes to find them."""
    text = "\n".join((task.title, *task.labels, task.prompt[:READ])).encode(errors="replace")
    return len(text) << 32 | crc32(text)


def asked(text: str) -> list[str]:
    """The words of a question, each as it must occur in what is kept."""
    words = dict.fromkeys(map(_cut, _words(_plain(text))))
    return [_as_kept(word) for word in list(words)[:MOST_ASKED]]


def _as_kept(word: str) -> str:
    is_whole = len(word) < SHORT and word.isascii()
    return f" {word} " if is_whole else f" {word}"


def _words(plain: str) -> list[str]:
    """The words of a text in small letters; of a plain one in a tenth of the time."""
    if plain.isascii():
        return plain.encode().translate(_SMALL).decode().split()
    return re.findall(_WORD, plain.casefold())


def _plain(text: str) -> str:
    """A letter with an accent is one letter, however it was typed."""
    if text.isascii():
        return text
    from unicodedata import normalize  # here, because it is large and seldom needed

    return normalize("NFKC", text)


def _may_have_humps(plain: str) -> bool:
    """A cheap look at a plain text before the dear one."""
    shape = plain.encode().translate(_SHAPE)
    return b"aA" in shape or b"AAa" in shape


def _parts(words: Iterable[str]) -> Iterator[str]:
    """What words are made of: `TaskQuery` is found by `query` as well."""
    for word in words:
        if not word.isascii():
            folded = word.casefold()
            yield from (_cut(folded[at:]) for at in _borders(folded))
        elif len(word) <= LONG:
            yield from (word[at.start() :].lower() for at in re.finditer(_HUMP, word))


def _borders(word: str) -> Iterator[int]:
    """Where another word may begin in a language that writes no spaces: at each letter."""
    for at in range(1, len(word)):
        if _is_unspaced(word[at]) or _is_unspaced(word[at - 1]):
            yield at


def _is_unspaced(letter: str) -> bool:
    """Is it Japanese, Chinese or Korean? Compared, since a regex for so many is slow to make."""
    return "\u3040" <= letter <= "\ud7af"


def _cut(word: str) -> str:
    """As much of a word as is compared."""
    if len(word) <= RUN:
        return word
    return word[: RUN if _is_unspaced(word[0]) else LONG]
