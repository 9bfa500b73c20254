"""The help page: keys and shapes."""

from codefleet.doors.cli.screen import parts
from codefleet.doors.cli.screen.pages import Page
from codefleet.doors.cli.screen.span import row

KEYS = {
    "Move": {
        "j k, arrows": "down, up",
        "g G": "first, last",
        "space b": "half a screen down, up",
        "/": "show only what matches; esc shows everything",
    },
    "Selection": {
        "enter": "open the task: prompt, runs, evidence, its agent's messages",
        "a": "answer a question or a permission request",
        "l": "land reviewed work",
        "r": "reject it, with a reason",
        "d": "show what it changed",
        "s": "send its agent a message",
        "p": "pause or resume it",
        "t": "retry a failed task",
        "c": "cancel it; its work is kept",
        "w": "use a resting account again",
    },
    "The fleet": {"P": "pause or resume everything"},
}
SHAPES = {
    "running": "an agent works on it",
    "quiet": "its agent is silent, or is being stopped",
    "question": "waits for your answer",
    "review": "waits for your review",
    "lane": "on its way to the trunk",
    "pending": "ready; waits for a free agent",
    "blocked": "waits for something else",
    "paused": "paused",
    "completed": "done",
    "failed": "failed; needs you",
}


def help_page(*, stops: bool) -> Page:
    """What each key does, and what each shape means."""
    leave = (
        "stop the runner gracefully; again: at once" if stops else "leave; the fleet keeps running"
    )
    groups = {**KEYS, "The fleet": {**KEYS["The fleet"], "q": leave, "?": "this page"}}
    lines = []
    for title, its in groups.items():
        lines += [row(), row((title, "heading"))]
        lines += [row((f"  {key:<13}", "key"), (meaning, "text")) for key, meaning in its.items()]
    lines += [row(), row(("Shapes", "heading"))]
    for name, meaning in SHAPES.items():
        lines.append(row(("  ", ""), parts.shape(name), (" " * 12, ""), (meaning, "text")))
    return Page("keys", lines)
