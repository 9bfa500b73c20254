"""Turning the usage that a program reports into ledger lines, priced where necessary."""

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from codefleet.coder import Abilities
from codefleet.domain import prices
from codefleet.domain.events import event
from codefleet.domain.model import Event, Run, Usage
from codefleet.domain.prices import Bill, Price, Prices, Source
from codefleet.domain.signals import Signal, Used
from codefleet.domain.validation import checked
from codefleet.runner.output.transcript import OutputState

FILE = Path(__file__).parents[2] / "prices.toml"


class PriceList(NamedTuple):
    """The prices that come with codefleet, and their date."""

    as_of: date
    prices: Mapping[str, Price]


@cache
def price_list() -> PriceList:
    read = tomllib.loads(FILE.read_text(encoding="utf-8"))
    known = {name: checked(Price, price) for name, price in read["prices"].items()}
    return PriceList(read["as_of"], known)


class Booked(NamedTuple):
    """The total usage of the run, and the new ledger lines."""

    usage: Usage
    lines: Sequence[Event]


class Ledger:
    """Books the usage of one run: as its program reports it or, failing that, an estimate."""

    def __init__(self, can: Abilities, repo: str, own_prices: Prices) -> None:
        self._can, self._repo = can, repo
        self._tables: Sequence[Prices] = (own_prices, price_list().prices)
        self._fresh: dict[str | None, Usage] = {}
        self._tells_money = False

    def record(self, heard: OutputState, signal: Signal) -> None:
        """Fold in a signal, and keep the usage it adds until it is booked."""
        before = heard.summed if isinstance(signal, Used) else None
        heard.take(signal)
        if before and (fresh := heard.summed - before) != Usage():
            self._fresh[heard.model] = self._fresh.get(heard.model, Usage()) + fresh
            self._tells_money = heard.summed.cost_usd > 0

    def book(self, run: Run, now: datetime) -> Booked:
        """Price the added usage; the run and its ledger show the same amount."""
        usage, lines = run.usage, []
        for model, fresh in self._fresh.items():
            bill = self._priced(fresh, model or run.model)
            usage += bill.usage
            lines.append(self._line(run, bill, model or run.model, now))
        self._fresh = {}
        return Booked(usage, lines)

    def close(self, run: Run, heard: OutputState, prompt: Path, now: datetime) -> Booked | None:
        """What an ended program has not totalled: its last messages, or else an estimate."""
        if heard.unsummed:
            return self._messages(run, heard, now)
        return self._guess(run, prompt, now) if self._may_guess(run, heard) else None

    def _messages(self, run: Run, heard: OutputState, now: datetime) -> Booked | None:
        if run.usage.tokens > heard.summed.tokens:
            return None  # an earlier runner of this run has closed the bill
        usage, lines = run.usage, []
        for model, least in heard.unsummed.items():
            bill = prices.bill(least, model or run.model, self._tables)
            usage += bill.usage
            lines.append(self._line(run, bill, model or run.model, now))
        return Booked(usage, lines)

    def _may_guess(self, run: Run, heard: OutputState) -> bool:
        """Only if a model was used: a plain script uses none, an agent that did work uses one."""
        if run.usage != Usage():
            return False
        if self._can.reports_tokens:
            return heard.worked and not self._can.reports_cost
        return bool(run.model)

    def _guess(self, run: Run, prompt: Path, now: datetime) -> Booked:
        """An estimate from character counts, for a run whose program reported nothing."""
        asked = prompt.stat().st_size if prompt.exists() else 0
        bill = prices.estimate(asked, run.offset, run.model, self._tables)
        return Booked(bill.usage, [self._line(run, bill, run.model, now)])

    def _priced(self, fresh: Usage, model: str | None) -> Bill:
        if (
            self._tells_money
        ):  # maybe separately from the tokens, which then have no price of their own
            return Bill(fresh, Source.REPORTED)
        return prices.bill(fresh, model, self._tables, reports_cost=self._can.reports_cost)

    def _line(self, run: Run, bill: Bill, model: str | None, now: datetime) -> Event:
        about = bill.usage.plain() | {"repo": self._repo, "source": bill.source}
        return event("run.used", now, run=run, coder=run.coder, model=model, **about)
