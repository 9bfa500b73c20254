"""The ledger, with recorded output of the real programs: what is booked, and never twice."""

import json
import tomllib
from datetime import date
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from codefleet.coders import registry
from codefleet.domain.model import Run, Usage
from codefleet.domain.model_names import find
from codefleet.domain.prices import Price
from codefleet.domain.signals import Tool, Used
from codefleet.runner.limits.ledger import FILE, Ledger, price_list
from codefleet.runner.output.transcript import OutputState
from tests.domain.samples import NOON, a_run, a_task

FOLDER = Path(__file__).parents[1] / "coders" / "transcripts"
OWN = {"m": Price(input=10, output=100, cached=1)}


def run_of(recording: str, model: str | None = None, *, earlier: tuple[Run, ...] = ()) -> Run:
    """The run that printed this, booked line by line as a listener does."""
    coder = registry.coder(recording.partition("-")[0])
    run = a_run(a_task(), coder=coder.name, model=model)
    heard = OutputState(before=reduce(Usage.__add__, (each.usage for each in earlier), Usage()))
    ledger = Ledger(coder.abilities, "shop", OWN)
    booked: list[dict[str, Any]] = []
    for line in (FOLDER / f"{recording}.jsonl").read_text().splitlines():
        for signal in coder.read(line):
            ledger.record(heard, signal)
        found = ledger.book(run, NOON)
        run = run.evolve(usage=found.usage)
        booked += [line.data for line in found.lines]
    for _ in range(2):  # the second time as another runner would, for one that died meanwhile
        if rest := ledger.close(run, heard, FOLDER / "no prompt", NOON):
            run = run.evolve(usage=rest.usage)
            booked += [line.data for line in rest.lines]
    assert sum(line["cost_usd"] for line in booked) == pytest.approx(run.usage.cost_usd)
    assert sum(line["input_tokens"] for line in booked) == run.usage.input_tokens
    return run.evolve(said=", ".join(f"{line['source']} {line.get('model')}" for line in booked))


def test_a_resumed_claude_counts_on_and_is_billed_only_what_came_on_top() -> None:
    first = run_of("claude-resume-1")
    second = run_of("claude-resume-2", earlier=(first,))
    assert (first.usage, second.usage) == (
        Usage(input_tokens=100, output_tokens=20, cost_usd=0.0008),
        Usage(input_tokens=100, output_tokens=20, cost_usd=0.0008),
    )
    assert second.said == "reported claude-opus-5-5"


def test_a_killed_claude_is_billed_its_messages_and_the_rest_when_it_is_resumed() -> None:
    killed = run_of("claude-killed-1")
    resumed = run_of("claude-killed-2", earlier=(killed,))
    least = Usage(input_tokens=100, output_tokens=1)
    price = price_list().prices["claude-opus-5-5"].of(least)
    assert (killed.usage, killed.said) == (
        least.evolve(cost_usd=price),
        "priced claude-opus-5-5",
    )
    assert killed.usage.cost_usd + resumed.usage.cost_usd == pytest.approx(0.0032)
    assert (resumed.usage.input_tokens, resumed.usage.output_tokens) == (300, 79)


def test_a_message_of_several_lines_counts_once_and_a_sum_takes_its_place() -> None:
    can, heard = registry.coder("claude").abilities, OutputState()
    ledger, run = Ledger(can, "shop", OWN), a_run(a_task())
    for tokens in (100, 140, 140):
        ledger.record(heard, Used(Usage(input_tokens=tokens), model="m", message="one"))
    assert heard.spent == Usage(input_tokens=140)
    assert ledger.book(run, NOON).lines == []
    ledger.record(heard, Used(Usage(input_tokens=150, cost_usd=0.5), in_all=True))
    run = run.evolve(usage=ledger.book(run, NOON).usage)
    assert run.usage == heard.spent == Usage(input_tokens=150, cost_usd=0.5)
    assert ledger.close(run, heard, FOLDER / "no prompt", NOON) is None


def test_a_claude_killed_in_its_second_turn_is_billed_both() -> None:
    can, heard = registry.coder("claude").abilities, OutputState()
    ledger, run = Ledger(can, "shop", OWN), a_run(a_task())
    ledger.record(heard, Used(Usage(input_tokens=150, cost_usd=0.5), in_all=True))
    run = run.evolve(usage=ledger.book(run, NOON).usage)
    for model in ("m", "nobody-knows"):
        used = Used(Usage(output_tokens=1000), model=model, message=f"of {model}")
        ledger.record(heard, used)
    closed = ledger.close(run, heard, FOLDER / "no prompt", NOON)
    assert closed
    assert [line.data["source"] for line in closed.lines] == ["priced", "unpriced"]
    assert closed.usage.cost_usd == pytest.approx(0.5 + 0.1)
    assert closed.usage.tokens == 2150


@pytest.mark.parametrize(("model", "source"), [("m", "estimated"), (None, "unpriced")])
def test_a_codex_that_worked_and_told_no_tokens_is_guessed_at(
    model: str | None, source: str
) -> None:
    ledger, heard = Ledger(registry.coder("codex").abilities, "shop", OWN), OutputState()
    run = a_run(a_task(), model=model, offset=4000)
    assert ledger.close(run, heard, FOLDER / "no prompt", NOON) is None
    heard.take(Tool("shell", "make"))
    closed = ledger.close(run, heard, FOLDER / "no prompt", NOON)
    assert closed
    assert closed.usage.output_tokens == 1000
    assert [line.data["source"] for line in closed.lines] == [source]


def test_a_codex_thread_counts_on_and_each_turn_is_priced_once() -> None:
    first = run_of("codex-resume-1", "m")
    second = run_of("codex-resume-2", "m", earlier=(first,))
    third = run_of("codex-resume-last", "m", earlier=(first, second))
    for run in (first, second, third):
        assert (run.usage.input_tokens, run.usage.output_tokens) == (100, 20)
        assert run.usage.cost_usd == pytest.approx((100 * 10 + 20 * 100) / 1e6)
        assert run.said == "priced m"


def test_a_codex_without_a_model_has_tokens_and_no_price() -> None:
    run = run_of("codex-resume-1")
    assert (run.usage.tokens, run.usage.cost_usd, run.said) == (120, 0.0, "unpriced None")


def test_gemini_names_its_model_and_is_priced_by_the_list() -> None:
    run = run_of("gemini-tool")
    price = price_list().prices["gemini-2.5-pro"]
    assert run.said == "priced gemini-2.5-pro"
    assert run.usage.cost_usd == pytest.approx(price.of(run.usage))
    assert run.usage.cost_usd > 0


def test_a_gemini_that_takes_several_models_pays_each_its_price() -> None:
    run = run_of("gemini-text")
    assert run.said == "unpriced gemini-3.5-flash-lite, priced gemini-3.1-pro-preview"
    half = Usage(input_tokens=100, output_tokens=20)
    assert run.usage.cost_usd == pytest.approx(
        price_list().prices["gemini-3.1-pro-preview"].of(half)
    )


def test_a_sum_that_falls_and_rises_again_is_billed_once() -> None:
    ledger, heard = Ledger(registry.coder("claude").abilities, "shop", {}), OutputState()
    for dollars in (1.0, 0.25, 1.5):
        ledger.record(heard, Used(Usage(cost_usd=dollars), in_all=True))
    assert ledger.book(a_run(a_task()), NOON).usage == Usage(cost_usd=1.5)


def test_a_program_that_tells_money_apart_from_its_tokens_is_not_billed_for_both() -> None:
    ledger, heard = Ledger(registry.coder("codex").abilities, "shop", OWN), OutputState()
    run = a_run(a_task(), model="m")
    ledger.record(heard, Used(Usage(cost_usd=0.25), in_all=True))
    run = run.evolve(usage=ledger.book(run, NOON).usage)
    ledger.record(heard, Used(Usage(input_tokens=1000)))
    assert ledger.book(run, NOON).usage == Usage(input_tokens=1000, cost_usd=0.25)


def test_what_is_booked_is_not_booked_again() -> None:
    ledger, heard = Ledger(registry.coder("claude").abilities, "shop", {}), OutputState()
    ledger.record(heard, Used(Usage(cost_usd=1.0)))
    run = a_run(a_task(), usage=ledger.book(a_run(a_task()), NOON).usage)
    assert ledger.book(run, NOON) == (Usage(cost_usd=1.0), [])


def _told() -> list[tuple[str, Usage]]:
    """What claude reported as its models' cost, in all recordings; unknown models are left out."""
    found = []
    for file in FOLDER.glob("*claude*.jsonl"):
        for line in file.read_text(errors="replace").splitlines():
            for model, used in (_result(line).get("modelUsage") or {}).items():
                sums = {"input_tokens": used["inputTokens"], "output_tokens": used["outputTokens"]}
                cached = used["cacheReadInputTokens"]
                usage = Usage(**sums, cached_tokens=cached, cost_usd=used["costUSD"])
                found.append((model, usage))
    return [each for each in found if each[0] != "scripted-1"]


def _result(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) and value.get("type") == "result" else {}


def test_our_prices_are_those_by_which_claude_bills_itself() -> None:
    told = _told()
    assert {model for model, _ in told} >= {"claude-opus-5-5", "claude-sonnet-5-5"}
    for model, usage in told:
        price = find(model, [price_list().prices])
        assert price, model
        assert price.of(usage) == pytest.approx(usage.cost_usd), model


def test_the_price_list_is_dated_and_every_price_can_be_right() -> None:
    listed = price_list()
    assert date(2026, 1, 1) < listed.as_of
    for name, price in listed.prices.items():
        assert price.cached is not None, name
        assert 0 < price.cached < price.input < price.output, name
        assert find(name, [listed.prices]) == price, name
    assert len(tomllib.loads(FILE.read_text())["prices"]) == len(listed.prices)
