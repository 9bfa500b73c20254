"""Words of a text."""


def words(text: str) -> int:
    return len(text.split(" "))
