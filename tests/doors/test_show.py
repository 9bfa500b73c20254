"""Nouns as tables: what is shown, and what is left out as uninformative."""

from codefleet.doors.cli import show
from tests.domain.samples import a_run, a_task


def test_the_memory_of_runs_is_shown_once_it_matters() -> None:
    small, large = a_run(a_task(), memory_mb=19), a_run(a_task(), memory_mb=1310)
    assert "MEMORY" not in show.runs([small])
    assert "1,310 MB" in show.runs([small, large])
    assert "19 MB" in show.runs([small, large])
