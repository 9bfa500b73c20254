"""Recorded output of the real programs, and what each recording must mean to a run.

`transcripts/index.json` states how each was made and how the program ended. The expectations in
`transcripts/expected.txt` were written by reading the recordings: outcome, session, tokens in and
out, US dollars, and the final text, cut with a mark where it is long.
"""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codefleet.coder import Coder
from codefleet.coders import registry
from codefleet.runner.process.custody import Exit
from codefleet.runner.run import replay
from codefleet.runner.run.replay import Recording
from codefleet.runner.run.verdict import Delivered, Failed, Released

FOLDER = Path(__file__).parent / "transcripts"
PRINTED_AT = datetime(2026, 11, 15, 12, tzinfo=UTC)

RESETS = {
    "claude-oauth-429": datetime(2026, 11, 15, 19, 28, 45, tzinfo=UTC),
    "codex-429-usage": datetime(2026, 11, 16, 3, 33).astimezone(UTC),  # by wall-clock time
}


class Expected(NamedTuple):
    name: str
    outcome: str
    session: str
    tokens_in: int
    tokens_out: int
    usd: float
    text: str


def _row(line: str) -> Expected:
    name, outcome, session, tokens_in, tokens_out, usd, text = line.split(maxsplit=6)
    return Expected(name, outcome, session, int(tokens_in), int(tokens_out), float(usd), text)


ROWS = [_row(line) for line in (FOLDER / "expected.txt").read_text().splitlines()[1:]]


@cache
def _index() -> dict[str, dict[str, Any]]:
    index: dict[str, dict[str, Any]] = json.loads((FOLDER / "index.json").read_text())
    return index


def _coder(name: str) -> Coder:
    return registry.coder(next(known for known in registry.names() if known in name))


def _exit(name: str) -> Exit:
    """How the program ended; if the recorder gave up on it, it was killed."""
    code = _index()[name].get("rc", 0)
    if code == "TIMEOUT":
        return Exit(signal=9)
    return Exit(code=code) if code >= 0 else Exit(signal=-code)


@cache
def _read(name: str) -> Recording:
    output = (FOLDER / f"{name}.jsonl").read_bytes()
    stderr = _index()[name].get("stderr", "")
    return replay.read(_coder(name), output, _exit(name), stderr, printed_at=PRINTED_AT)


@pytest.mark.parametrize("expected", ROWS, ids=lambda row: row.name)
def test_a_recording_means_what_the_table_says(expected: Expected) -> None:
    _, heard, verdict = _read(expected.name)
    text = (heard.end.text if heard.end else "") or heard.said
    assert _outcome(verdict) == expected.outcome
    assert (heard.session or "-") == expected.session
    assert heard.spent.input_tokens == expected.tokens_in
    assert heard.spent.output_tokens == expected.tokens_out
    assert heard.spent.cost_usd == pytest.approx(expected.usd)
    if expected.text.endswith("…"):
        assert text.startswith(expected.text[:-1])
    else:
        assert (text or "-") == expected.text


def _outcome(verdict: object) -> str:
    match verdict:
        case Delivered():
            return "ok"
        case Failed(reason=reason) | Released(reason=reason):
            return str(reason)
    return "?"


def test_a_limit_with_a_time_is_waited_out() -> None:
    resets = {
        row.name: verdict.until
        for row in ROWS
        if isinstance(verdict := _read(row.name).verdict, Released) and verdict.until
    }
    assert resets == RESETS


def test_every_recording_is_in_the_table() -> None:
    assert [row.name for row in ROWS] == sorted(file.stem for file in FOLDER.glob("*.jsonl"))
