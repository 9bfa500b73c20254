"""Thousands of requests that schemathesis generates from the description: every answer is as
described, and none is a failure of the server."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from codefleet.domain.model import Draft
from codefleet.domain.words import FINAL, State
from codefleet.domain.workflow import workflow
from codefleet.fleet import Fleet
from codefleet.ports import TaskQuery
from tests.doors.http.conftest import Served, serving
from tests.script import script

AT_LEAST = 10_000
EACH = 100
SLOW = {"doctor": 20, "gc": 60}
"""Fewer of those that start programs for every request."""
SEED = 14
WAIT_S = 0.05
ANSWER_WITHIN_S = 30
PROMISES = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance"),
    *("response_headers_conformance", "response_schema_conformance", "negative_data_rejection"),
)
WORK = (
    ("Greet", ("write a.txt hi", "finish")),
    ("Break", ("crash 3",)),
    ("Choose", ("ask Which? | a | b", "finish")),
)
PLAN = {
    "name": "release",
    "stages": [
        {"name": "build", "prompt": script("write b.txt b", "finish"), "coder": "scripted"},
        {"name": "test", "prompt": script("finish --no-changes"), "needs": ["build"]},
    ],
}


TALKED_ABOUT = {"team": "web", "handle": "scout", "agent": "scout", "key": "db"}


@pytest.fixture
async def busy(home: Path, fleet: Fleet) -> AsyncIterator[tuple[Served, Sequence[str]]]:
    """A served fleet that has worked, with the names of its tasks, runs, repos and workflows."""
    drafts = [
        Draft(title=title, coder="scripted", prompt=script(*steps), max_attempts=1)
        for title, steps in WORK
    ]
    await fleet.add(drafts)
    begun = await fleet.start(workflow.parse(PLAN), "shop")
    await fleet.create_team("web")
    await fleet.spawn("scout", script("finish --no-changes"), coder="scripted", team="web")
    await fleet.add_checkpoint("Find it", "half way", author="scout")
    await fleet.remember("db", "on port 5433", handle="scout")
    with serving(home, "--agents=2") as server:
        await settled(fleet)
        tasks = [task.id for task in await fleet.list(TaskQuery())]
        runs = [run.id for run in await fleet.runs_of(*tasks)]
        yield server, [*tasks, *runs, begun.id, "shop"]


async def settled(fleet: Fleet) -> None:
    """Wait until all is done that can be done without a human."""
    settled = {*FINAL, State.ASKING}
    while {task.state for task in await fleet.list(TaskQuery())} - settled:
        assert await fleet.changed(await fleet.last_seq(), within=30)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_no_generated_request_gets_an_answer_that_is_not_described(
    busy: tuple[Served, Sequence[str]],
) -> None:
    served, names = busy
    sent: Counter[int] = Counter()
    broken = list(_broken(served, names, sent))
    assert not broken, "\n".join(broken)
    assert sent.total() >= AT_LEAST, sent
    assert sent[200] > sent[404], sent  # or it would have tried little but refusals


def _broken(served: Served, names: Sequence[str], sent: Counter[int]) -> Iterator[str]:
    """The first broken promise of each operation."""
    load_all_checks()
    described = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(served.owner)
        for found in described.get_all_operations():
            assert isinstance(found, Ok)
            try:
                _try_out(found.ok(), session, cycle(names), sent)
            except FailureGroup as failures:
                yield "\n".join(map(str, failures.exceptions))


def _try_out(
    operation: Any, session: requests.Session, names: Iterator[str], sent: Counter[int]
) -> None:
    promises = [CHECKS.get_one(name) for name in PROMISES]
    many = SLOW.get(operation.definition.raw["operationId"], EACH)

    @seed(SEED)
    @settings(
        max_examples=many,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def answers_as_described(case: Any) -> None:
        if case.meta.generation.mode is GenerationMode.POSITIVE:
            _name_something(case, names)
            _wait_briefly(case)
        answer = case.call(session=session, timeout=ANSWER_WITHIN_S)
        sent[answer.status_code] += 1
        case.validate_response(answer, checks=promises)

    answers_as_described()


def _name_something(case: Any, names: Iterator[str]) -> None:
    """Let most requests be about something that exists."""
    for asked in (case.path_parameters, case.query):
        for name in ("ref", "task", "name") if asked else ():
            if isinstance(asked.get(name), str):
                asked[name] = next(names)
        for name, known in TALKED_ABOUT.items() if asked else ():
            if isinstance(asked.get(name), str):
                asked[name] = known


def _wait_briefly(case: Any) -> None:
    """Let no request wait longer for an event than a test should: its default is seconds."""
    asked = case.operation.definition.raw.get("parameters", ())
    if any(each["name"] == "within" for each in asked):
        case.query = {**(case.query or {}), "within": WAIT_S}
