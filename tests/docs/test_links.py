"""Every link works, and every page can be reached."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, name, prose

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page: Path) -> list[str]:
    found = LINK.findall(prose(page))
    return [link for link in found if not link.startswith(("http://", "https://"))]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in HEADING.findall(prose(page))
    }


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)}: {link}"
        assert target.is_relative_to(ROOT), f"{name(page)}: {link} leads out of the project"
        assert not anchor or anchor in anchors(target), f"{name(page)}: no heading for {link}"


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    reached = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    pages = {page for page in PAGES if page.is_relative_to(index.parent) and page != index}
    assert {name(page) for page in pages - reached} == set()


def test_the_readme_leads_to_the_index_the_changelog_and_the_contributors_page() -> None:
    assert {"docs/index.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"} <= set(
        links(ROOT / "README.md")
    )
