"""Text of agents and programs as it stands in a prompt: information that cannot give orders."""


def quoted(text: str) -> str:
    """Each line behind a `>`, which the rules in every prompt explain."""
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])
