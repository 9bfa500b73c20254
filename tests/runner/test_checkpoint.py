"""Checkpoints: what they contain, and that unknown things are left out."""

from pathlib import Path

from codefleet.domain.model import Change, Evidence
from codefleet.runner.brief.checkpoint import FILE, MOST_LINES, Known, compose, read, write
from tests.domain.samples import a_run, a_task

WHOLE = """\
It was stopped: its context is 91% full

Commits so far, newest first:

- abc Add the till

Files changed so far:

- added till.py (+3 -0)

Its plan:

1. till 2. tax

Its last message:

Now the tax.
"""


def test_a_checkpoint_tells_all_that_is_known() -> None:
    changes = [Change(path="till.py", kind="added", added=3)]
    known = Known(
        "its context is 91% full",
        "Now the tax.\n",
        "1. till 2. tax\n",
        changes,
        ["abc Add the till"],
    )
    assert compose(known) == WHOLE


def test_a_checkpoint_of_an_agent_that_did_nothing_says_only_why_it_stopped() -> None:
    assert compose(Known("the runner was stopped")) == "It was stopped: the runner was stopped\n"


def test_a_long_list_ends_with_how_much_is_left_out() -> None:
    commits = [f"c{n}" for n in range(MOST_LINES + 7)]
    assert compose(Known("why", commits=commits)).endswith("- c99\n- and 7 more\n")


async def test_a_checkpoint_that_cannot_be_made_costs_nothing(tmp_path: Path) -> None:
    no_repository = Evidence(base="0", tip="0", tree="0")
    run = a_run(a_task(), worktree=str(tmp_path), said="words")
    await write(tmp_path, run, no_repository, "why")
    assert await read(tmp_path) == ""
    assert not (tmp_path / FILE).exists()
