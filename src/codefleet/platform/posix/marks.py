"""No marks: outside Linux, nobody can read the limits of another process."""


def own() -> int:
    return 0


def of(pid: int) -> int:
    return 0


def put(pid: int, number: int) -> None:
    """Impossible; the variable in its environment remains."""
