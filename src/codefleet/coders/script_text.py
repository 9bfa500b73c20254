"""From a prompt to the steps of its script; `scripted_agent.py` explains each step."""

TYPE_CHECKING = False  # the agent, which starts for every run, loads little
if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST_FENCE = 3
QUOTING = "'\"\\"
HERE = "<<"
TAKES = {
    "write": (2, 2),
    "append": (2, 2),
    "edit": (3, 3),
    "delete": (1, 1),
    "shell": (1, 1),
    "commit": (1, 1),
    "say": (1, 1),
    "recite": (2, 2),
    "usage": (1, 4),
    "context": (2, 2),
    "ask": (1, 1),
    "ask-in-file": (1, 1),
    "note": (1, 1),
    "result": (1, 1),
    "want": (1, 1),
    "listen": (0, 0),
    "wait": (1, 3),
    "limit": (1, 1),
    "broke": (1, 1),
    "finish": (0, 1),
    "crash": (0, 1),
    "hang": (0, 0),
    "spin": (0, 0),
    "ignore": (1, 1),
    "orphan": (0, 1),
}
"""How many words each step takes, at least and at most."""
WHOLE_LINE = {
    *("shell", "commit", "say", "ask", "ask-in-file", "note", "result"),
    *("limit", "broke", "finish"),
}


class Trouble(Exception):
    """The script cannot be followed; the text says why."""


class Step:
    def __init__(self, line: int, name: str, words: list[str]) -> None:
        self.line, self.name, self.words = line, name, words


def steps_of(prompt: str, attempt: int) -> list[Step]:
    """The steps of the script in this prompt for this attempt."""
    found = sections(script(prompt))
    return found[max(first for first in found if first <= attempt)]


def script(prompt: str) -> list[str]:
    for lines in blocks(prompt, "fleet"):
        return lines
    raise Trouble(
        "the scripted agent found no script in the prompt; "
        "add a block marked ```fleet, or choose another coder with --coder"
    )


def blocks(prompt: str, mark: str) -> "Iterator[list[str]]":
    """The lines of each fenced block with this mark."""
    lines = iter(prompt.split("\n"))
    for line in lines:
        text = line.strip()
        fence = text[: len(text) - len(text.lstrip("`"))]
        indent = len(line) - len(line.lstrip(" "))
        is_fence = len(fence) >= SHORTEST_FENCE and line[indent] == "`"
        if is_fence and text.removeprefix(fence).strip() == mark:
            yield list(until_closed(lines, fence, indent))


def until_closed(lines: "Iterator[str]", fence: str, indent: int) -> "Iterator[str]":
    for line in lines:
        closing = line.strip()
        if closing.startswith(fence) and not closing.strip("`"):
            return
        yield line[indent:] if not line[:indent].strip() else line


def sections(lines: list[str]) -> dict[int, list[Step]]:
    """The steps, by the attempt from which they apply."""
    found: dict[int, list[Step]] = {1: []}
    attempt = 1
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        name, _, rest = line.strip().partition(" ")
        if not name or name.startswith("#"):
            continue
        if name == "on":
            attempt = attempt_of(number, rest)
            found[attempt] = []
        else:
            found[attempt].append(step(number, name, rest.strip(), numbered))
    return found


def step(number: int, name: str, rest: str, lines: "Iterator[tuple[int, str]]") -> Step:
    if name not in TAKES:
        raise Trouble(f"line {number}: no step {name}; use one of: {', '.join(TAKES)}")
    if name != "want":
        return Step(number, name, words(number, name, rest, lines))
    inner, _, its = rest.partition(" ")
    wanted = step(number, inner, its.strip(), lines)
    return Step(number, name, [wanted.name, *wanted.words])


def attempt_of(number: int, rest: str) -> int:
    match rest.split():
        case ["attempt", count] if count.isdecimal() and int(count) > 0:
            return int(count)
    raise Trouble(f"line {number}: write `on attempt 2`, not `on {rest}`")


def words(number: int, name: str, rest: str, lines: "Iterator[tuple[int, str]]") -> list[str]:
    """The words of a step, with each <<NAME replaced by the lines that follow."""
    try:
        given = split(rest) if name not in WHOLE_LINE else [rest] if rest else []
    except ValueError as reason:
        raise Trouble(f"line {number}: {reason} in: {rest}") from None
    least, most = TAKES[name]
    if not least <= len(given) <= most:
        raise Trouble(f"line {number}: wrong arguments for {name}: {rest or 'none'}")
    return [here(w.removeprefix(HERE), number, lines) if is_here(w) else w for w in given]


def split(rest: str) -> list[str]:
    """Words as a shell sees them."""
    if rest.isascii() and rest.isprintable() and not any(mark in rest for mark in QUOTING):
        return rest.split()
    import shlex  # slow to load, and many scripts do not need it

    return shlex.split(rest)


def is_here(word: str) -> bool:
    return word.startswith(HERE) and word.removeprefix(HERE).replace("_", "x").isalnum()


def here(tag: str, number: int, lines: "Iterator[tuple[int, str]]") -> str:
    body: list[str] = []
    for _, line in lines:
        if line.rstrip() == tag:
            return "".join(f"{text}\n" for text in body)
        body.append(line)
    raise Trouble(f"line {number}: this text has no end: a line with only {tag} is missing")
