"""Redact what looks like a key, and keep the length in bytes.

Keys are recognized by their shape (`ghp_...`, a PEM block), by what precedes them (`password=`,
`Authorization: Bearer`), or because they are in the agent's environment. Each pattern matches as
much as it can, and a function then judges the match: so a line of any length is read just once, and
a word, a hash or a call in source code that only looks like a key is kept.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

MARK = b"[redacted]"
SHORTEST_VALUE = 8
SHORTEST_LISTED = 6
"""Shorter values, such as `true` or a port, occur in every other line."""
STEP = 1 << 18
SHORT = 1 << 12
"""Up to this many bytes, all hints are searched first; most lines have none."""

# A key does not begin inside a word. An escape of JSON or of a URL, or a terminal's colour code,
# may precede it and is no word.
_NO_WORD = re.compile(rb"(?:^|[^A-Za-z0-9_-]|\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|[0-9]m)\Z")
GAP = re.compile(
    rb"(?:\x1b\[[0-?]*[ -/]*[@-~]"  # a colour
    rb"|\\+(?:u001[bB]|x1[bB]|033|e)\[[0-9;:?]*[A-Za-z]"  # one inside a JSON string
    rb"|(?:[\r\n]|\\+[rn])[ \t]*)"  # a line break and its indentation
)
"""What may interrupt a value that a terminal or a program has wrapped or coloured."""
GAP_SIGNS = (b"\n", b"\r", b"\x1b[", b"\\")
_IN_URL = re.compile(rb"[?&][\w.-]*\Z")
_LABEL = re.compile(
    rb"authorization[\\\"']{0,3}[ \t]{0,2}[:=][ \t]{0,2}[\\\"']{0,3}\Z", re.IGNORECASE
)
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)",
    re.IGNORECASE,
)


def redact(text: str, known: Iterable[str] = ()) -> str:
    """The text with every key redacted; `known` are values that are certainly keys."""
    data = text.encode(errors="surrogatepass")
    clean = redact_bytes(data, known)
    return text if clean == data else clean.decode(errors="surrogatepass")


def redact_bytes(data: bytes, known: Iterable[str] = ()) -> bytes:
    """The same for bytes, which need not be text."""
    values = _spellings(tuple(known))
    for value in values:
        if _find(value, data) >= 0:
            data = data.replace(value, _stars(value))
    data = _without_broken(values, data)
    if len(data) <= SHORT and not _has_hint(data):
        return data
    for shape in SHAPES:
        if _find(shape.hint, data) >= 0:
            data = shape.pattern.sub(shape.judged, data)
    for labelled in LABELLED:
        data = labelled.redact(data)
    return data


def is_secret_name(name: str) -> bool:
    """Does a variable's name say that its value is a key?"""
    return bool(_SECRET_NAME.search(name))


def secret_values(environment: Mapping[str, str], listed: Iterable[str]) -> dict[str, str]:
    """The secret values, each with the name of its variable: those whose names say so, and all that
    the owner `listed`, unless a value is too short to be one."""
    every = {*listed}
    return {
        value: name
        for name, value in environment.items()
        if value not in MARK.decode()
        and (
            (name in every and len(value) >= SHORTEST_LISTED)
            or (_SECRET_NAME.search(name) and len(value) >= SHORTEST_VALUE)
        )
    }


class Shape(NamedTuple):
    """What every match contains, a pattern with the key as its group `key`, and its judge."""

    hint: bytes
    source: bytes
    is_key: Callable[[bytes, re.Match[bytes]], bool]

    @property
    def pattern(self) -> re.Pattern[bytes]:
        return re.compile(self.source)  # kept by `re`; few commands need them, and they are slow

    def judged(self, found: re.Match[bytes]) -> bytes:
        key = found["key"]
        if not self.is_key(key, found):
            return found[0]
        start = found.start("key") - found.start()
        return found[0][:start] + _stars(key) + found[0][start + len(key) :]


class Labelled(NamedTuple):
    """A key known by what precedes it: one of these words, in any case, begins every match.

    The words are searched first, one by one: a pattern that may begin with any of them would be
    tried at every letter, which is a hundred times slower and blocks all other threads.
    """

    words: tuple[bytes, ...]
    shape: Shape

    def redact(self, data: bytes) -> bytes:
        parts: list[bytes] = []
        done = 0
        for start in self._starts(data.lower()):
            found = self.shape.pattern.match(data, start) if start >= done else None
            if found:
                parts += data[done:start], self.shape.judged(found)
                done = found.end()
        return b"".join([*parts, data[done:]]) if parts else data

    def _starts(self, lower: bytes) -> list[int]:
        return sorted({start for word in self.words for start in _places(word, lower)})


def _places(word: bytes, data: bytes) -> Iterator[int]:
    at = _find(word, data)
    while at >= 0:
        yield at
        at = _find(word, data, at + 1)


def _find(word: bytes, data: bytes, start: int = 0) -> int:
    """Like `data.find`, in short steps, so that other threads get their turn."""
    for at in range(start, len(data), STEP):
        found = data.find(word, at, at + STEP + len(word) - 1)
        if found >= 0:
            return found
    return -1


def _stars(key: bytes) -> bytes:
    """As many bytes as the key has, with its line ends kept."""
    if b"\n" in key:
        return re.sub(rb"[^\r\n]", b"*", key)
    room = len(key) - len(MARK)
    return b"*" * len(key) if room < 0 else MARK[:-1] + b"*" * room + MARK[-1:]


@lru_cache(maxsize=64)  # the values of a run are searched in every text that it stores
def _spellings(known: tuple[str, ...]) -> Sequence[bytes]:
    """Each value, longest first, as it is and as it appears inside a JSON string."""
    plain = [value.encode(errors="surrogatepass") for value in sorted(known, key=len, reverse=True)]
    return [*dict.fromkeys(each for value in plain for each in (value, _in_json(value)))]


def _in_json(value: bytes) -> bytes:
    return value.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _has_hint(data: bytes) -> bool:
    lower = data.lower()
    return any(hint in data for hint in HINTS) or any(word in lower for word in WORDS)


def _without_broken(values: Sequence[bytes], data: bytes) -> bytes:
    """The same for values that colours or line breaks interrupt."""
    if not values or not any(sign in data for sign in GAP_SIGNS):
        return data
    bare = GAP.sub(b"", data)
    for value in values:
        if _find(value, bare) >= 0:
            letters = [re.escape(value[at : at + 1]) for at in range(len(value))]
            data = re.sub((GAP.pattern + b"*").join(letters), _stars_around_gaps, data)
    return data


def _stars_around_gaps(found: re.Match[bytes]) -> bytes:
    clean, done = b"", 0
    for gap in GAP.finditer(found[0]):
        clean += b"*" * (gap.start() - done) + gap[0]
        done = gap.end()
    return clean + b"*" * (len(found[0]) - done)


def _shape(prefix: bytes, body: bytes, shortest: int, longest: int = 1000) -> Shape:
    """Keys with this prefix and a length between these bounds."""

    def fits(key: bytes, found: re.Match[bytes]) -> bool:
        return shortest <= len(key) <= longest and _stands_alone(found)

    return Shape(prefix[:3], rb"(?P<key>" + prefix + body + rb"*)", fits)


def _before(found: re.Match[bytes], length: int) -> bytes:
    return found.string[max(0, found.start() - length) : found.start()]


def _stands_alone(found: re.Match[bytes]) -> bool:
    return _NO_WORD.search(_before(found, 6)) is not None


def _is_mixed(word: bytes) -> bool:
    """Digits among letters, as in random text; names that people choose rarely have both."""
    return re.search(rb"[0-9]", word) is not None and re.search(rb"[A-Za-z]", word) is not None


def _is_random(key: bytes, found: re.Match[bytes]) -> bool:
    """From a known issuer, or with a long mixed piece: `sk-learn-pipeline-2024-final` has none."""
    if len(key) < 20 or not _stands_alone(found):
        return False
    pieces = re.split(rb"[-_]", key)
    return pieces[1] in ISSUERS or any(len(piece) >= 16 and _is_mixed(piece) for piece in pieces)


def _is_web_token(key: bytes, found: re.Match[bytes]) -> bool:
    """Parts between dots, the first two of them base64 JSON; encrypted ones have five."""
    if not _stands_alone(found):
        return False
    parts = key.split(b".")
    signed = len(parts) == 3 and parts[1].startswith(b"ey")
    return (signed or len(parts) == 5) and len(key) >= 30


def _is_long(key: bytes, _: re.Match[bytes]) -> bool:
    return len(key) >= 40


def _is_credential(key: bytes, found: re.Match[bytes]) -> bool:
    """After `Authorization:` anything; after a bare `Bearer` only what looks random."""
    if _LABEL.search(_before(found, 30)):
        return len(key) >= SHORTEST_VALUE
    return found["scheme"].lower() == b"bearer" and len(key) >= 16 and _is_mixed(key)


def _is_value(key: bytes, found: re.Match[bytes]) -> bool:
    """Is this the value itself, and not source code that reads it from somewhere?"""
    if len(key) < SHORTEST_VALUE:
        return False
    if _IN_URL.search(_before(found, 32)):
        return True
    if found["after"] or ATTRIBUTE.fullmatch(key):
        return False
    is_variable = found["name"].isupper() and found["sign"] == b"="
    return is_variable or (_is_mixed(key) and len(re.findall(rb"[0-9A-Z]", key)) > 1)


ISSUERS = {b"ant", b"proj", b"svcacct", b"admin", b"or"}
ATTRIBUTE = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
LETTERS = rb"[A-Za-z0-9]"

SHAPES = (
    *(_shape(prefix, LETTERS, 40) for prefix in (rb"ghp_", rb"gho_", rb"ghu_", rb"ghs_", rb"ghr_")),
    _shape(rb"github_pat_", rb"\w", 33),
    _shape(rb"glpat-", rb"[\w-]", 26),
    _shape(rb"xox[abeoprs]-", rb"[A-Za-z0-9-]", 16),
    *(_shape(prefix, LETTERS, 20, 20) for prefix in (rb"AKIA", rb"ASIA")),
    _shape(rb"AIza", rb"[\w-]", 39, 39),
    _shape(rb"npm_", LETTERS, 40, 40),
    _shape(rb"hf_", LETTERS, 33, 64),
    Shape(b"sk-", rb"(?P<key>sk-[\w-]*)", _is_random),
    Shape(b"eyJ", rb"(?P<key>eyJ[\w=-]*+(?:\.[\w=-]++)*+)", _is_web_token),
    Shape(
        b"PRIVATE KEY-----",
        (
            rb"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY-----[ \t\r]{0,4}(?:\n|\\n|\\r)"
            rb"(?P<key>(?:[A-Za-z0-9+/=:,. \t\r\n]++|-(?!-)|\\[nr])*+)"
        ),
        _is_long,
    ),
    Shape(
        b"://",
        rb"://[\w.%+-]{0,64}:(?P<key>[\w!$&'*+,;=.~%-]{3,256})@",
        lambda key, _: True,
    ),
)

_CREDENTIAL = Shape(
    b"",
    rb"(?i:\b(?P<scheme>bearer|basic|token))[ \t]{1,2}(?P<key>[\w.~+/=-]*)",
    _is_credential,
)
_VALUE = Shape(
    b"",
    (
        rb"(?P<name>(?i:password|passwd|secret|token|(?:api|access|secret|private)[_-]?key))"
        rb"(?:(?P<sign>=)|[\\\"']{0,3}[ \t]{0,2}[=:][ \t]{0,2})[\\\"']{0,3}"
        rb"(?P<key>[A-Za-z0-9!#%*+./:=?@^_~-]*)(?P<after>[(\[{]?)"
    ),
    _is_value,
)
LABELLED = (
    Labelled((b"bearer", b"basic", b"token"), _CREDENTIAL),
    Labelled((b"passw", b"secret", b"token", b"api", b"access", b"private"), _VALUE),
)
HINTS = tuple({shape.hint for shape in SHAPES})
WORDS = tuple({word for labelled in LABELLED for word in labelled.words})
