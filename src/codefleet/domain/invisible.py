"""Invisible characters, with which a text can hold more than its reader sees."""

FILLERS = frozenset((0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0))
VARIATIONS = frozenset((*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
TAGS = frozenset(range(0xE0000, 0xE0080))
INVISIBLE = FILLERS | VARIATIONS | TAGS


def is_visible(character: str) -> bool:
    """Is it visible to a reader? A space counts, although only its gap is seen."""
    return character.isprintable() and ord(character) not in INVISIBLE
