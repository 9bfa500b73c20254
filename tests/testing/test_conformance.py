"""The checks for coders find what they are for: a good coder passes, each bad one is caught."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from codefleet.coder import Abilities, Assignment, Coder, Start
from codefleet.domain.model import Usage
from codefleet.domain.signals import Broke, Finished, Limited, Said, Signal, Started, Used, Wants
from codefleet.testing.conformance import CoderConformance

TRANSCRIPT = '{"session": "s1"}\n{"words": "Hello", "cost": 0.5}\n{"done": true}\n'
CHECKS = [name for name in dir(CoderConformance) if name.startswith("test_")]


class Good:
    """A flawless coder; each bad one differs from it in one thing."""

    name = "good"
    abilities = Abilities(resume=True, reports_cost=True, says_when_done=True)

    def start(self, assignment: Assignment) -> Start:
        argv = ["good", f"--model={assignment.run.model}"]
        if assignment.resume:
            argv.append(f"--session={assignment.resume}")
        return Start(argv=argv, stdin=assignment.prompt)

    def read(self, line: str) -> Iterator[Signal]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return
        match found:
            case {"session": str(session)}:
                yield Started(session.encode(errors="replace").decode())
            case {"words": str(words), "cost": float(cost)} if 0 <= cost < 100:
                yield Said(words.encode(errors="replace").decode())
                yield Used(Usage(cost_usd=cost))
            case {"done": True}:
                yield Finished()

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        if exit_code == 3:
            yield Broke("no key", reason="auth")


class NameWithSpaces(Good):
    name = "Good Coder"


class NoProgram(Good):
    def start(self, assignment: Assignment) -> Start:
        return Start(argv=[], stdin=assignment.prompt)


class Fickle(Good):
    starts = 0

    def start(self, assignment: Assignment) -> Start:
        self.starts += 1
        return Start(argv=["good", f"--nonce={self.starts}"], stdin=assignment.prompt)


class PromptInSight(Good):
    def start(self, assignment: Assignment) -> Start:
        return Start(argv=["good", f"--prompt={assignment.prompt}"])


class PromptNowhere(Good):
    def start(self, assignment: Assignment) -> Start:
        return Start(argv=["good"])


class TakesFlags(Good):
    def start(self, assignment: Assignment) -> Start:
        argv = ["good", "--model", assignment.run.model or "small"]
        return Start(argv=argv, stdin=assignment.prompt)


class Forgetful(Good):
    def start(self, assignment: Assignment) -> Start:
        return Start(argv=["good"], stdin=assignment.prompt)


class StrangeSignal(Good):
    def start(self, assignment: Assignment) -> Start:
        return super().start(assignment)._replace(stop_signal="SIGPLEASE")


class NeverDone(Good):
    def read(self, line: str) -> Iterator[Signal]:
        return (one for one in super().read(line) if not isinstance(one, Finished))


class Remembers(Good):
    before = ""

    def read(self, line: str) -> Iterator[Signal]:
        yield Said(self.before)
        self.before = line[:10].encode(errors="replace").decode()


class Fragile(Good):
    def read(self, line: str) -> Iterator[Signal]:
        json.loads(line)
        return super().read(line)


class Trusting(Good):
    def read(self, line: str) -> Iterator[Signal]:
        found = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
        if "cost" in found:
            yield Used(Usage(cost_usd=found["cost"] + 0))
        yield from super().read(line)


class Timid(Good):
    def read(self, line: str) -> Iterator[Signal]:
        if "rate limit" in line:
            yield Limited("slow down")
        yield from super().read(line)


class NoZone(Good):
    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        yield Limited("later", datetime(2026, 1, 1))  # noqa: DTZ001  (the fault to be found)


class OwnReason(Good):
    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        yield Broke("tired", reason="tired")


class Mumbles(Good):
    abilities = Good.abilities._replace(talks=True)

    def start(self, assignment: Assignment) -> Start:
        return super().start(assignment)._replace(listens=True)

    def say(self, id: str, text: str) -> str:
        return f"{id} {text}"

    def permit(self, wants: Wants, *, allowed: bool, why: str = "") -> str:
        return f"{wants.request} {allowed}"


class DeafTalker(Mumbles):
    def start(self, assignment: Assignment) -> Start:
        return super().start(assignment)._replace(listens=False)


FAULTS: list[tuple[Callable[[], Coder], str]] = [
    (NameWithSpaces, "test_its_name_can_be_typed"),
    (NoProgram, "test_a_start_is_words_without_a_shell"),
    (Fickle, "test_a_start_is_the_same_every_time"),
    (PromptInSight, "test_the_prompt_comes_by_stdin_or_file_and_never_as_an_argument"),
    (PromptNowhere, "test_the_prompt_comes_by_stdin_or_file_and_never_as_an_argument"),
    (TakesFlags, "test_no_value_of_a_task_becomes_a_flag"),
    (Forgetful, "test_a_resumed_session_is_named_to_the_program"),
    (StrangeSignal, "test_its_stop_signal_exists"),
    (NeverDone, "test_a_good_run_tells_what_the_abilities_promise"),
    (Remembers, "test_a_line_means_the_same_every_time"),
    (Fragile, "test_no_line_is_too_strange_to_read"),
    (Fragile, "test_a_line_that_was_cut_off_can_be_read"),
    (Trusting, "test_wrong_values_in_known_places_can_be_read"),
    (Timid, "test_words_alone_are_no_failure"),
    (NoZone, "test_any_end_can_be_explained"),
    (OwnReason, "test_any_end_can_be_explained"),
    (Mumbles, "test_what_is_said_to_a_running_agent_is_a_line_of_its_own"),
    (DeafTalker, "test_what_is_said_to_a_running_agent_is_a_line_of_its_own"),
]


def checks_of(tested: Coder) -> CoderConformance:
    class Checks(CoderConformance):
        coder = tested
        transcript = TRANSCRIPT

    return Checks()


class TestGood(CoderConformance):
    coder = Good()
    transcript = TRANSCRIPT


@pytest.mark.parametrize(("bad", "check"), FAULTS)
def test_a_fault_is_found_by_its_check(bad: Callable[[], Coder], check: str) -> None:
    with pytest.raises(AssertionError):
        getattr(checks_of(bad()), check)()


def test_every_check_has_a_fault_that_it_finds() -> None:
    assert {check for _, check in FAULTS} == set(CHECKS)


def test_a_coder_without_a_transcript_is_not_checked_by_accident() -> None:
    checks = checks_of(Good())
    type(checks).transcript = ""
    with pytest.raises(AssertionError, match="set `transcript`"):
        checks.test_a_line_that_was_cut_off_can_be_read()
