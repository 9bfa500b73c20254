"""Every session in the docs works when typed, and prints what the page shows."""

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, blocks, name, steps
from tests.docs.terminal import differs, terminal

pytestmark = pytest.mark.slow

WITH_SESSIONS = [page for page in PAGES if any(b.language == "console" for b in blocks(page))]


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=name)
def test_a_session_prints_what_its_page_shows(page: Path, tmp_path: Path) -> None:
    with terminal(tmp_path) as reader:
        for block in blocks(page):
            if block.file:
                reader.save(block)
            for step in steps(block):
                wrong = differs(step, reader.type(step))
                assert not wrong, f"{name(page)}, line {step.start}: {wrong}"


def test_the_pages_that_promise_a_session_have_one() -> None:
    promised = {"README.md", "docs/tutorial.md"} | {
        f"docs/how-to/{page}.md"
        for page in (
            *(
                "budgets",
                "landing-modes",
                "permissions",
                "recover",
                "run-a-workflow",
                "use-an-acp-agent",
            ),
            *("use-as-a-library", "write-a-script"),
        )
    }
    assert {name(page) for page in WITH_SESSIONS} == promised
