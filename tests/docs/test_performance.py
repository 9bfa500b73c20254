"""The performance page shows what was measured, and nothing else."""

from xml.etree import ElementTree

from bench import page, plot, results
from bench.row import Row

MEASURED = results.Part("a quiet machine", [Row("claim + complete, 1 worker", 20.0, 10.0, "us", 2)])


def test_the_tables_and_the_plot_are_those_of_the_last_measurements() -> None:
    known = results.read()
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text, known) == text
    assert page.PLOT.read_text(encoding="utf-8") == plot.drawn(known)


def test_a_table_says_on_what_machine_and_how_far_from_the_goal() -> None:
    text = page.filled("a\n<!-- bench: store -->\nold\n<!-- end -->\nb", {"store": MEASURED})
    assert "On a quiet machine:" in text
    assert "| claim + complete, 1 worker | 20 us | 10 us | 2.00 | 2 |" in text
    assert "old" not in text


def test_what_was_not_measured_stays_as_it_is() -> None:
    text = "<!-- bench: scale -->\nold\n<!-- end -->"
    assert page.filled(text, {"store": MEASURED}) == text


def test_the_plot_has_a_bar_for_each_queue_and_number_of_workers() -> None:
    rows = [Row(f"huey: claim + complete, {kind}", 9.0, 4.0, "us", 1.0) for kind in plot.KINDS]
    drawn = plot.drawn({"libraries": results.Part("here", rows)})
    tree = ElementTree.fromstring(drawn)
    bars = [each for each in tree.iter() if each.tag.endswith("rect")]
    assert len(bars) == 1 + 2 * 2
    assert "250,000" in drawn
    assert "codefleet, SQLite full" in drawn
