"""What every coder has to keep to, as tests to inherit. Nothing but pytest is needed.

    class TestParrot(CoderConformance):
        coder = parrot
        transcript = Path("good-run.jsonl").read_text()

Each check says in a sentence what is wrong. A coder that passes never breaks a runner, whatever
its program prints, and never lets a value from a task become a flag.
"""

import json
import math
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

from codefleet.coder import Assignment, Coder, Start, Talker
from codefleet.domain.errors import FleetError
from codefleet.domain.model import Run, RunId, RunnerId, Task, TaskId, Usage
from codefleet.domain.signals import Broke, Finished, Limited, Signal, Started, Used, Wants
from codefleet.domain.words import Reason

PROMPT = "Say hello -- and --this is no flag"
HOSTILE = ("--help", "-x", "--model=other", "; rm x", "$(x)", "a b", "ü\n--x")
NAME = re.compile(r"[a-z][a-z0-9_-]*")
NOWHERE = Path("/nowhere")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WRONG_VALUES: Sequence[Any] = (
    None,
    True,
    -1,
    1e400,
    10**400,
    "",
    "\ud800",
    [],
    [None],
    {},
    {"": 0},
)
STRANGE_LINES = (
    *("", " ", "{", "}", "[]", "null", "0", '"', "{}", "\0", "\ud800", "\ufeff{}", "NaN"),
    *("[" * 100_000, '{"type":' * 10_000, '{"type": []}', '{"type": {}}', '{"type": null}'),
    *("x" * 1_000_000, json.dumps({"type": "x" * 1_000_000})),
)
HARMLESS_WORDS = (
    "tests/test_codes.py, line 4290: expected 429, got 401",
    "Authentication required, please log in",
    "I handle the rate limit and the quota now",
    "the context window is full of examples",
)


class CoderConformance:
    """Inherit this in a test class, name the coder, and give it the output of a good run."""

    coder: ClassVar[Coder]
    transcript: ClassVar[str]
    options: ClassVar[Mapping[str, object]] = {}

    def test_its_name_can_be_typed(self) -> None:
        assert NAME.fullmatch(self.coder.name), f"{self.coder.name!r} is hard to type as a name"

    def test_a_start_is_words_without_a_shell(self) -> None:
        start = self._start()
        words = [*start.argv, *start.env, *start.env.values()]
        assert start.argv, "there is no program to start"
        for word in words:
            assert isinstance(word, str), f"{word!r} is not text"
            assert "\0" not in word, f"{word!r} cannot be passed to a program"

    def test_a_start_is_the_same_every_time(self) -> None:
        assert self._start() == self._start(), "two starts of one run differ: start is not pure"

    def test_the_prompt_comes_by_stdin_or_file_and_never_as_an_argument(self) -> None:
        start = self._start()
        visible = [*start.argv, *start.env.values()]
        assert not any(PROMPT in word for word in visible), "everybody can see the prompt"
        by_file = any(str(_assignment().prompt_file) in word for word in visible)
        assert by_file or PROMPT in (start.stdin or ""), "the agent never sees its prompt"

    def test_no_value_of_a_task_becomes_a_flag(self) -> None:
        for value in HOSTILE:
            for fields in ({"model": value}, {"resume": value}):
                start = self._start_unless_refused(**fields)
                alone = _before_the_end_of_flags(start.argv) if start else []
                wrong = [word for word in alone if word.startswith(value) and value[0] == "-"]
                assert not wrong, f"{fields} is taken for a flag; pass it as --flag=value"

    def test_a_resumed_session_is_named_to_the_program(self) -> None:
        session = "5e551011-0000-4000-8000-000000000000"
        start = self._start(resume=session)
        named = any(session in word for word in (*start.argv, *start.env.values()))
        if self.coder.abilities.resume:
            assert named, "it says that it can resume, but does not tell the program what"

    def test_its_stop_signal_exists(self) -> None:
        name = self._start().stop_signal
        assert name in signal.Signals.__members__, f"there is no signal {name}"

    def test_a_good_run_tells_what_the_abilities_promise(self) -> None:
        signals = [found for line in self._lines() for found in self._read(line)]
        sessions = [one.session for one in signals if isinstance(one, Started) and one.session]
        can = self.coder.abilities
        assert sessions or not can.resume, "no session was reported, so none can be resumed"
        finished = any(isinstance(one, Finished) for one in signals)
        assert finished or not can.says_when_done, "the good run never said that it is done"
        used = [one.usage for one in signals if isinstance(one, Used)]
        assert any(u.cost_usd for u in used) or not can.reports_cost, "no cost was reported"
        assert any(u.tokens for u in used) or not can.reports_tokens, "no tokens were reported"

    def test_a_line_means_the_same_every_time(self) -> None:
        lines = self._lines()
        first = [self._read(line) for line in lines]
        again = [self._read(line) for line in reversed(lines)]
        assert first == again[::-1], "what a line means depends on the lines before it"

    def test_no_line_is_too_strange_to_read(self) -> None:
        for line in STRANGE_LINES:
            self._read(line)

    def test_a_line_that_was_cut_off_can_be_read(self) -> None:
        for line in self._lines():
            step = max(1, len(line) // 50)
            for end in range(0, len(line), step):
                self._read(line[:end])

    def test_wrong_values_in_known_places_can_be_read(self) -> None:
        for line in self._lines():
            for damaged in _damaged(_parsed(line)):
                self._read(json.dumps(damaged))

    def test_words_alone_are_no_failure(self) -> None:
        for words in HARMLESS_WORDS:
            for line in (words, json.dumps({"text": words}), json.dumps(words)):
                wrong = [one for one in self._read(line) if isinstance(one, Broke | Limited)]
                assert not wrong, f"{line!r} was taken for {wrong[0]}"

    def test_any_end_can_be_explained(self) -> None:
        ends = [(code, "") for code in range(256)]
        ends += [(code, stderr) for code in (0, 1) for stderr in (*STRANGE_LINES, *HARMLESS_WORDS)]
        for code, stderr in ends:
            for found in self.coder.explain(code, stderr):
                assert isinstance(found, Broke | Limited), f"an end cannot be {found!r}"
                _check(found, stderr)

    def test_what_is_said_to_a_running_agent_is_a_line_of_its_own(self) -> None:
        if not self.coder.abilities.talks:
            return
        talker = cast(Talker, self.coder)
        assert self._start().listens, "it says that it talks, but its program does not listen"
        wants = Wants("r1", "shell", "ls")
        for words in HOSTILE:
            said = [talker.say("m1", words), talker.say("m2", words)]
            said += [talker.permit(wants, allowed=yes, why=words) for yes in (True, False)]
            assert len(set(said)) == len(said), f"one of {said} cannot be told from another"
            wrong = [line for line in said if "\n" in line.removesuffix("\n") or not line.strip()]
            assert not wrong, f"{wrong[0]!r} is not one line"
            assert talker.say("m1", words) == said[0], "a message said again is another line"

    def _start(self, **fields: str) -> Start:
        return self.coder.start(_assignment(self.options, **fields))

    def _start_unless_refused(self, **fields: str) -> Start | None:
        try:
            return self._start(**fields)
        except FleetError:
            return None

    def _lines(self) -> list[str]:
        lines = self.transcript.splitlines()
        assert lines, "a coder is checked with the recorded output of a good run: set `transcript`"
        return lines

    def _read(self, line: str) -> list[Signal]:
        try:
            signals = list(self.coder.read(line))
        except Exception as error:
            raise AssertionError(f"{line[:300]!r} makes read raise {error!r}") from error
        for found in signals:
            _check(found, line)
        return signals


def _assignment(
    options: Mapping[str, object] | None = None,
    *,
    model: str | None = None,
    resume: str | None = None,
) -> Assignment:
    """A run in folders that do not exist, because a coder has no business there."""
    task = Task(id=TaskId("t1"), title="Greet", repo="shop", created_at=NOW, updated_at=NOW)
    run = Run(
        id=RunId("t1.2"),
        task=task.id,
        number=2,
        agent="agent-1",
        runner=RunnerId("r1"),
        host="here",
        fence=2,
        lease_until=NOW,
        coder="any",
        model=model,
        started_at=NOW,
    )
    return Assignment(
        run=run,
        task=task,
        prompt=PROMPT,
        prompt_file=NOWHERE / "runs" / run.id / "prompt.md",
        worktree=NOWHERE / "worktree",
        options=options or {},
        resume=resume,
    )


def _before_the_end_of_flags(argv: Sequence[str]) -> Sequence[str]:
    return argv[: argv.index("--")] if "--" in argv else argv


def _check(found: Signal, line: str) -> None:
    """A signal that the runner can use and the store can keep."""
    said = f"{line[:300]!r} means {found!r:.300}"
    assert isinstance(found, get_args(Signal)), f"{said}, which is no signal"
    for value in found:
        texts = value if isinstance(value, tuple) else (value,)
        for text in texts:
            if isinstance(text, str):
                assert text == text.encode(errors="replace").decode(), f"{said}, not to be stored"
        if isinstance(value, datetime):
            assert value.tzinfo, f"{said}, a time without a zone"
        if isinstance(value, Usage):
            numbers = [getattr(value, name) for name in Usage.__struct_fields__]
            assert all(n >= 0 and math.isfinite(n) for n in numbers), f"{said}, not to be summed"
    if isinstance(found, Broke):
        assert found.reason in list(Reason), f"{said}, for no reason of the closed list"


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _damaged(value: Any) -> Iterator[Any]:
    """The value with each part of it, in turn, missing or replaced by something wrong."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {name: kept for name, kept in value.items() if name != key}
            yield from ({**value, key: wrong} for wrong in (*WRONG_VALUES, *_damaged(inner)))
    elif isinstance(value, list):
        for at, inner in enumerate(value[:3]):
            yield from ([*value[:at], wrong, *value[at + 1 :]] for wrong in _damaged(inner))
