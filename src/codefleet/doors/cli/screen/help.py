"""The page of keys and shapes."""

from codefleet.doors.cli.screen import parts
from codefleet.doors.cli.screen.pages import Page
from codefleet.doors.cli.screen.span import row

KEYS = {
    "Move": {
        "j k, arrows": "down, up",
        "g G": "first, last",
        "space b": "half a screen down, up",
        "/": "show only what has these words; esc shows everything",
    },
    "What is chosen": {
        "enter": "open the task: prompt, runs, evidence, what its agent says",
        "a": "answer a question or a permission",
        "l": "land reviewed work",
        "r": "reject it, with a reason",
        "d": "show what it changed",
        "s": "send words to its agent",
        "p": "pause it, or let it go on",
        "t": "retry a failed task",
        "c": "cancel it; its work is kept",
        "w": "use an account again that rests until you say so",
    },
    "The fleet": {"P": "pause everything, or let it go on"},
}
SHAPES = {
    "running": "an agent works on it",
    "quiet": "its agent shows no sign of life, or is being stopped",
    "question": "waits for your answer",
    "review": "waits for your review",
    "lane": "on its way onto the trunk",
    "pending": "ready; waits for a free agent",
    "blocked": "waits for something else",
    "paused": "paused",
    "completed": "done",
    "failed": "failed; needs you",
}


def help_page(*, stops: bool) -> Page:
    """What each key does, and what each shape means."""
    leave = "stop the runner gently; again: at once" if stops else "leave; the fleet goes on"
    groups = {**KEYS, "The fleet": {**KEYS["The fleet"], "q": leave, "?": "this page"}}
    lines = []
    for title, its in groups.items():
        lines += [row(), row((title, "heading"))]
        lines += [row((f"  {key:<13}", "key"), (meaning, "text")) for key, meaning in its.items()]
    lines += [row(), row(("Shapes", "heading"))]
    for name, meaning in SHAPES.items():
        lines.append(row(("  ", ""), parts.shape(name), (" " * 12, ""), (meaning, "text")))
    return Page("keys", lines)
