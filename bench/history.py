"""The rows of a fleet that has done a thousand tasks a day for a long time, made in bulk.

Each row is what the store would write: the store's own code turns one noun of each kind into a
row, and for all others only id, time and number are replaced.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from codefleet.domain.events import event
from codefleet.domain.lifecycle import Seat, Verb, claim, end, move
from codefleet.domain.model import Conflict, Event, RunnerId, Task, TaskId, Usage
from codefleet.domain.noun import Noun, instant
from codefleet.domain.words import Outcome, State

A_DAY = 1000
EVENTS_EACH = 10
LATELY = 20
WORDS = ("mailer", "parser", "login", "cache", "invoice", "search", "upload", "report", "router")
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
RARE, SOME, COMMON = "quetzalcoatl", WORDS[0], "Extract"
"""A word that is in ten tasks, one in every ninth, and one in all."""
PROMPT = "Extract the {word} into a module of its own and cover it with tests. " * 3

Row = Mapping[str, Any]
OfNoun = Callable[[Any], Row]

_ID, _NEED, _WORD = "idididid", "needneed", "wordword"
_THEN = datetime(2001, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
_SEAT = Seat("claude-1", RunnerId("runner-1"), "here", "claude")


class Table(NamedTuple):
    """Some rows for one table."""

    name: str
    rows: Iterator[Row]


class Rows(NamedTuple):
    """How an engine turns its nouns into rows, and times into columns."""

    task: OfNoun
    text: OfNoun
    run: OfNoun
    event: OfNoun
    moment: Callable[[datetime], Any]


class History:
    """This many tasks, ten times as many events, and what belongs to them."""

    def __init__(self, many: int, engine: Rows) -> None:
        self._many = many
        self._engine = engine
        self._now = datetime.now(UTC)
        self._states = self._assigned()
        self.ids = [_id(number) for number in range(many)]

    def tables(self) -> Iterator[Table]:
        """All tables, in an order in which they can be written."""
        yield Table("tasks", self._tasks())
        yield Table("texts", self._texts())
        yield Table("needs", self._needs())
        yield Table("runs", self._runs())
        yield Table("conflicts", self._conflicts())
        yield Table("events", self._events())

    @property
    def busiest(self) -> TaskId:
        """A task with a full history, from the middle of it all."""
        done = (n for n in range(self._many // 2, self._many) if self._states[n] == "completed")
        return self.ids[next(done)]

    def _assigned(self) -> list[str]:
        """Most tasks are done; one in twenty is ready, and one in twenty waits for that one."""
        kinds = ["completed"] * 85 + ["failed"] * 3 + ["cancelled"] * 2 + ["ready", "blocked"] * 5
        return [kinds[number % 100] for number in range(self._many)]

    def _at(self, number: int) -> datetime:
        return self._now - timedelta(days=1) * ((self._many - number) / A_DAY)

    def _tasks(self) -> Iterator[Row]:
        made = {state: self._engine.task(_task(state)) for state in set(self._states)}
        chance = random.Random(1)
        for number, state in enumerate(self._states):
            row, body = made[state], made[state]["body"]
            priority = chance.randint(1, 5)
            body = body.replace('"priority":3', f'"priority":{priority}')
            body = self._filled(body, number).replace(_WORD, self._word(number))
            more = {"id": self.ids[number], "priority": priority, "body": body}
            if state == "blocked":
                more["needs"] = self._with_need(row["needs"], number)
            yield {**row, **more, "unmet": int(state == "blocked")}

    def _word(self, number: int) -> str:
        return RARE if number % (self._many // 10) == 7 else WORDS[number % len(WORDS)]

    def _texts(self) -> Iterator[Row]:
        """One for each task, at that task's place."""
        made = {word: self._engine.text(_task("ready", word)) for word in (RARE, *WORDS)}
        for number in range(self._many):
            yield {**made[self._word(number)], "place": number + 1}

    def _with_need(self, needs: Any, number: int) -> Any:
        need = self.ids[number - 1]
        return needs.replace(_NEED, need) if isinstance(needs, str) else [need]

    def _filled(self, body: str, number: int) -> str:
        body = body.replace(_ID, self.ids[number]).replace(
            instant(_THEN), instant(self._at(number))
        )
        return body.replace(_NEED, self.ids[number - 1]) if _NEED in body else body

    def _needs(self) -> Iterator[Row]:
        for number, state in enumerate(self._states):
            if state == "blocked":
                yield {"task": self.ids[number], "need": self.ids[number - 1]}

    def _runs(self) -> Iterator[Row]:
        row = self._engine.run(_run_of(_task("running")))
        for number, state in enumerate(self._states):
            if state in ("completed", "failed", "cancelled"):
                name, lease = f"{self.ids[number]}.1", self._engine.moment(self._at(number))
                body = self._filled(row["body"], number)
                known = {"id": name, "task": self.ids[number], "lease_until": lease}
                yield {**row, **known, "body": body}

    def _conflicts(self) -> Iterator[Row]:
        """As many in the last hour as in any, and one for every hundred tasks before."""
        for number in range(LATELY + self._many // 100):
            ago = timedelta(minutes=number) if number < LATELY else timedelta(hours=number)
            pair = self.ids[number], self.ids[number + 1]
            conflict = Conflict(
                id=f"{'+'.join(pair)}.1",
                tasks=pair,
                paths=("src/mailer.py",),
                found="running",
                found_at=self._now - ago,
            )
            yield self._conflict_row(conflict)

    def _conflict_row(self, conflict: Conflict) -> Row:
        row = {"id": conflict.id, "version": 0, "body": conflict.json()}
        return {**row, "found_at": self._engine.moment(conflict.found_at)}

    def _events(self) -> Iterator[Row]:
        told = [self._engine.event(each) for each in _story()]
        seq = 0
        for number in range(self._many):
            at, task = self._at(number), self.ids[number]
            moment, then, name = self._engine.moment(at), instant(at), instant(_THEN)
            for row in told:
                seq += 1
                body = row["body"].replace(_ID, task).replace(name, then)
                yield {**row, "seq": seq, "at": moment, "task": task, "body": body}


def _task(state: str, word: str = _WORD) -> Task:
    task = Task(
        id=TaskId(_ID),
        title=f"Extract the {word}",
        prompt=PROMPT.format(word=word),
        repo="shop",
        needs=(_NEED,) if state == "blocked" else (),
        created_at=_THEN,
        updated_at=_THEN,
    )
    if state in ("ready", "blocked"):
        return task
    running = claim(task, _SEAT, _THEN, _THEN + timedelta(minutes=1), None).task
    verbs = {"completed": Verb.COMPLETE, "failed": Verb.FAIL, "cancelled": Verb.CANCEL}
    return move(running, verbs[state]) if state in verbs else running


def _run_of(task: Task) -> Noun:
    pending = task.evolve(state=State.PENDING, runs=0, fence=0)
    begun = claim(pending, _SEAT, _THEN, _THEN + timedelta(minutes=1), None).run
    return end(begun, Outcome.SUBMITTED, _THEN)


def _story() -> list[Event]:
    """The events of one task, from beginning to end."""
    task = _task("completed")
    run = claim(_task("ready"), _SEAT, _THEN, _THEN + timedelta(minutes=1), None).run
    usage = Usage(input_tokens=9000, output_tokens=800, cost_usd=0.05).plain()
    bill = {**usage, "coder": "claude", "model": "large", "repo": "shop", "source": "told"}
    words = "I moved the functions that send mail into a module of their own."
    return [
        event("task.added", _THEN, task.title, task=task),
        event("run.started", _THEN, task.title, run=run),
        event("run.prepared", _THEN, "fleet/extract", run=run),
        event("run.said", _THEN, words, run=run),
        event("run.tool", _THEN, "Edit src/mailer.py", run=run),
        event("run.tool", _THEN, "Bash pytest -q", run=run),
        event("run.used", _THEN, run=run, **bill),
        event("run.checked", _THEN, "pytest -q", run=run, exit_code=0),
        event("run.ended", _THEN, run=run, outcome="submitted"),
        event("task.completed", _THEN, task=task, landed="0123abc"),
    ]


def _id(number: int) -> TaskId:
    """Eight letters in random order, as ids are, and never the same twice."""
    scattered = (number * 634_567_891_013 + 12_345) % len(LETTERS) ** 8
    letters = []
    for _ in range(8):
        scattered, place = divmod(scattered, len(LETTERS))
        letters.append(LETTERS[place])
    return TaskId("".join(letters))
