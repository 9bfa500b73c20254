"""Every verb of the API can be reached from the page, or has a reason why not."""

import re
from collections.abc import Iterator

from codefleet.api.table import OPERATIONS, PREFIX
from web.tools.node import WEB

CALL = re.compile(r"\bapi\s*\.(GET|POST|PUT|PATCH|DELETE)\b(?:\(\s*\"(/[^\"]*)\")?")
LINK = re.compile(r"\baddress\((?:\s*\"(/[^\"]*)\")?")
TOLD = "what the page shows of it comes with another answer: "
WAITS = "for programs that wait; the page follows the log over its WebSocket"
NOT_ON_THE_PAGE = {
    "GET /tasks/{ref}": TOLD + "the details of a task",
    "GET /tasks/waiting": TOLD + "the board and the details of a task say why it waits",
    "GET /inbox": TOLD + "the board has it, with the tasks",
    "GET /counts": TOLD + "the board has them",
    "GET /left": TOLD + "the board tells what waits for a human, and what is next",
    "GET /runs": TOLD + "the details of a task, and the timeline",
    "GET /runs/heartbeats": TOLD + "the crew says when each was last heard of",
    "GET /workers/{handle}": TOLD + "the list of workers",
    "GET /checkpoints/{ref}": TOLD + "the list of checkpoints",
    "GET /memories/recall": TOLD + "the list of memories, and the search in it",
    "GET /rights": TOLD + "the session",
    "GET /tasks/watch": WAITS,
    "GET /events/changed": WAITS,
    "GET /events/last": WAITS,
    "GET /events/failed": "for the exit code of `fleet run`",
    "GET /time": "for clients that compare clocks; a browser shows its own time",
}
"""The verbs that the page leaves out on purpose, and why."""


def sources() -> Iterator[tuple[str, str]]:
    """The page's own files with their text."""
    for file in sorted((WEB / "src").rglob("*.ts*")):
        if file.name != "schema.ts" and ".test." not in file.name:
            yield str(file.relative_to(WEB)), file.read_text()


def asked() -> set[str]:
    """All requests that the page can make, as method and path."""
    calls = (found.groups() for _, text in sources() for found in CALL.finditer(text))
    links = (("GET", found[1]) for _, text in sources() for found in LINK.finditer(text))
    return {f"{method} {path}" for method, path in (*calls, *links) if path}


def offered() -> dict[str, str]:
    """The full address of every verb, by how the exceptions above name it."""
    return {f"{it.method} {it.path}": f"{it.method} {PREFIX}{it.path}" for it in OPERATIONS}


def test_every_verb_can_be_reached_from_the_page_or_has_a_reason_why_not() -> None:
    found = asked()
    missing = {name for name, address in offered().items() if address not in found}
    assert missing == NOT_ON_THE_PAGE.keys()


def test_the_page_names_every_address_where_it_asks_for_it() -> None:
    """One that was computed would be seen neither by the type check nor by the test above."""
    for file, text in sources():
        for found in CALL.finditer(text):
            assert found[2], (file, found[0])
        for found in LINK.finditer(text):
            assert found[1], (file, found[0])
