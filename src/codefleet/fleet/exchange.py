"""Moving a whole fleet: everything out as JSON lines, back in, or forgotten."""

import json
from collections.abc import AsyncIterator, Iterable

from codefleet.domain.errors import Invalid, Refused
from codefleet.domain.events import event
from codefleet.fleet.core import Core


class Exchange(Core):
    async def export(self) -> AsyncIterator[str]:
        """Every repo, task, run, question, conflict, setting and event, one JSON object a line."""
        async for kind, body in self.store.export():
            yield f'{{"kind":"{kind}","body":{body}}}'

    async def load(self, lines: Iterable[str]) -> int:
        """Take an export into an empty fleet, all or none; returns how many lines it held."""
        rows = [_row(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        await self.store.load(rows)
        return len(rows)

    async def forget(self) -> None:
        """Forget every task, run and event; refused while a runner lives."""
        now = await self.store.now()
        living = [r for r in await self.store.runners() if now - r.seen_at <= self.lease]
        if living:
            raise Refused(
                f"a runner lives on {living[0].host} (pid {living[0].pid})",
                hint="stop it first: Ctrl-C where `fleet run` runs",
            )
        await self.store.erase(event("fleet.reset", now))


def _row(number: int, line: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
        return str(row["kind"]), json.dumps(row["body"])
    except (ValueError, TypeError, KeyError):
        raise Invalid(
            f"line {number} is not a line of an export", hint="`fleet export` writes such files"
        ) from None
