"""Which known word was probably meant by an unknown one."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, if any."""
    from difflib import get_close_matches  # imported here, because only errors need it

    return next(iter(get_close_matches(word, list(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint: the word that was probably meant, and what to do if it was not."""
    meant = nearest(word, known)
    return f"did you mean {meant}? {otherwise}".rstrip() if meant else otherwise
