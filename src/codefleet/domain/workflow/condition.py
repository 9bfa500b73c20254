"""When a stage runs: a tiny language about earlier results, parsed by hand and never evaluated.

    review.status == 'blocked'
    not (tests.status == "completed") or "api" in build.files

    either  = both { "or" both }
    both    = one { "and" one }
    one     = "not" one | "(" either ")" | value [ ("==" | "!=") value | ["not"] "in" where ]
    where   = value | "[" value { "," value } "]"
    value   = 'text' | "text" | stage.field

A value by itself is true if it is not empty. Texts are compared exactly; `in` looks for a
substring, or for an equal text in a list: review.status in ['blocked', 'failed'].
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from codefleet.domain.errors import Invalid

Values = Mapping[tuple[str, str], str]
Test = Callable[[Values], bool]
Value = Callable[[Values], str]

LONGEST = 500
DEEPEST = 20
TOKEN = re.compile(
    r"\s*(?:(?P<text>'[^']*'|\"[^\"]*\")|(?P<sign>==|!=|[()\[\],])"
    r"|(?P<word>[A-Za-z_][\w-]*(?:\.[a-z_]+)?))"
)


class Condition(NamedTuple):
    """A parsed condition: what it asks about, and its test."""

    asks: frozenset[tuple[str, str]]
    holds: Test


def parse(text: str) -> Condition:
    """Parse a condition, or refuse it."""
    if len(text) > LONGEST:
        raise _unclear(text, f"it is longer than {LONGEST} characters")
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._asks: set[tuple[str, str]] = set()

    def read(self) -> Condition:
        test = self._either()
        if self._next() is not None:
            raise _unclear(self._text, f"unexpected {self._next()!r}")
        return Condition(frozenset(self._asks), test)

    def _either(self) -> Test:
        tests = [self._both()]
        while self._took("or"):
            tests.append(self._both())
        return lambda values: any(test(values) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._took("and"):
            tests.append(self._one())
        return lambda values: all(test(values) for test in tests)

    def _one(self) -> Test:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _unclear(self._text, "it is nested too deeply")
        try:
            if self._took("not"):
                inner = self._one()
                return lambda values: not inner(values)
            if self._took("("):
                inside = self._either()
                self._need(")")
                return inside
            return self._compared()
        finally:
            self._depth -= 1

    def _compared(self) -> Test:
        left = self._value()
        if self._took("=="):
            right = self._value()
            return lambda values: left(values) == right(values)
        if self._took("!="):
            right = self._value()
            return lambda values: left(values) != right(values)
        if self._took("not"):
            self._need("in")
            inside = self._inside(left)
            return lambda values: not inside(values)
        if self._took("in"):
            return self._inside(left)
        return lambda values: bool(left(values))

    def _inside(self, left: Value) -> Test:
        """Is it part of a text, or one of a list?"""
        if not self._took("["):
            right = self._value()
            return lambda values: left(values) in right(values)
        several = [self._value()]
        while self._took(","):
            several.append(self._value())
        self._need("]")
        return lambda values: left(values) in [each(values) for each in several]

    def _value(self) -> Value:
        token = self._next()
        if token is None:
            raise _unclear(self._text, "it ends too early")
        self._at += 1
        if token[0] in "'\"":
            literal = token[1:-1]
            return lambda _: literal
        stage, dot, field = token.rpartition(".")
        if not dot:
            raise _unclear(self._text, f"{token!r} is neither a quoted string nor stage.field")
        self._asks.add((stage, field))
        return lambda values: values.get((stage, field), "")

    def _next(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _took(self, word: str) -> bool:
        if self._next() != word:
            return False
        self._at += 1
        return True

    def _need(self, word: str) -> None:
        if not self._took(word):
            raise _unclear(self._text, f"{word!r} is missing")


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        token = TOKEN.match(text, at)
        if token is None:
            raise _unclear(text, f"{text[at:].strip()[:20]!r} is not understood")
        found.append(token[token.lastgroup or 0])
        at = token.end()
    return found


def _unclear(text: str, why: str) -> Invalid:
    return Invalid(
        f"the condition {text[:80]!r} is unclear: {why}",
        hint="for example: review.status == 'blocked'",
    )
