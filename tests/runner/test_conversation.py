"""The conversation with an agent when runners die in the middle: nothing is repeated."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codefleet.coder import Start
from codefleet.coders.scripted import coder
from codefleet.config import Config
from codefleet.domain.lifecycle import Seat
from codefleet.domain.model import Draft, Message, RunnerId
from codefleet.domain.permissions import Rule, Ruling
from codefleet.domain.scheduling import ClaimFilter
from codefleet.domain.signals import Asks, Finished, Limited, Wants
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from codefleet.ports import Write
from codefleet.runner.lease import Lease
from codefleet.runner.output.conversation import Conversation
from codefleet.runner.output.live_agent import LiveAgent
from codefleet.runner.output.transcript import OutputState
from codefleet.runner.process.custody import AgentProcess
from codefleet.runner.repos import register
from codefleet.runner.stop import Cause
from codefleet.wiring import open_fleet
from tests.gitrepo import make_repo
from tests.runner.yard import Yard, ended, until

WANTS = Wants("w1", "shell", "make")


class Scene:
    """A run whose agent echoes all it receives, and a runner that can be replaced."""

    def __init__(self, fleet: Fleet, lease: Lease, kept: AgentProcess) -> None:
        self.fleet, self.lease, self.kept = fleet, lease, kept
        self.stops: list[Cause] = []
        self.heard = OutputState()

    async def talk(self, *rules: Rule) -> Conversation:
        """The conversation of a runner that has just started."""
        self.heard = OutputState()
        settings = Config(policy=rules)
        stop = lambda cause, _: self.stops.append(cause)  # noqa: E731  # a name for the list
        agent = LiveAgent(self.lease, coder, self.kept, self.heard)
        talk = Conversation(agent, lambda: settings, stop)
        await talk.begin()
        return talk

    async def hear(self, talk: Conversation, wants: Wants = WANTS) -> None:
        """Decide and record it, as far as a runner gets that dies then."""
        await self.lease.note(talk.judge_request(wants, await self.fleet.core.store.now()))

    async def said(self) -> list[dict[str, object]]:
        """Everything the agent was sent, in the end."""
        self.kept.close_input()
        await ended(self.kept)
        return [json.loads(line) for line in self.kept.lines(0)[0]]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    yard = Yard(tmp_path)
    repo = make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})
    async with open_fleet(tmp_path / "home", create=True) as fleet:
        await register(fleet, repo.path)
        await fleet.add([Draft(title="Talk")])
        seat = Seat("agent-1", RunnerId("r-1"), "here", "scripted")
        [claim] = await Dispatch(fleet).claim([seat], ClaimFilter())
        kept = await yard.begin(Start(argv=["cat"], listens=True))
        yield Scene(fleet, Lease(fleet, claim.run), kept)
        await yard.clear()


def permission(*, allowed: bool, why: str = "") -> dict[str, object]:
    return {"type": "permit", "request": "w1", "allowed": allowed, "why": why}


async def test_a_decision_that_was_only_written_down_is_carried_out_by_the_next_runner(
    scene: Scene,
) -> None:
    await scene.hear(await scene.talk(Rule(then=Ruling.ALLOW)))
    adopted = await scene.talk(Rule(then=Ruling.DENY))
    adopted.recall(WANTS)
    await adopted.act()
    assert await scene.said() == [permission(allowed=True)]


async def test_a_decision_that_was_carried_out_is_not_answered_again(scene: Scene) -> None:
    first = await scene.talk(Rule(then=Ruling.DENY, tool="shell"))
    await scene.hear(first)
    await first.act()
    adopted = await scene.talk()
    adopted.recall(WANTS)
    await adopted.act()
    assert await scene.said() == [permission(allowed=False, why="deny shell *")]
    assert scene.stops == []


async def test_a_question_that_was_only_written_down_is_asked_by_the_next_runner(
    scene: Scene,
) -> None:
    await scene.hear(await scene.talk())
    adopted = await scene.talk(Rule(then=Ruling.ALLOW))
    adopted.recall(WANTS)
    await adopted.act()
    assert scene.heard.end == Asks(
        "May it use shell?\nmake", ("allow", "always", "deny"), "shell", "make"
    )
    assert scene.stops == [Cause.ASKED]
    assert await scene.said() == []


async def test_what_an_agent_says_while_it_is_stopped_does_not_end_its_question(
    scene: Scene,
) -> None:
    talk = await scene.talk()
    await scene.hear(talk)
    await talk.act()
    scene.heard.take(Finished("I was interrupted"))
    assert isinstance(scene.heard.end, Asks)


async def test_a_message_that_was_said_but_not_written_down_is_heard_once(scene: Scene) -> None:
    sent = await scene.fleet.send("agent-1", "hello")
    await (await scene.talk()).act()
    [got] = await scene.fleet.core.store.records(Message)
    assert (got.run, bool(got.delivered_at)) == (scene.lease.run.id, True)
    unwritten = got.evolve(delivered_at=None, version=got.version + 1)
    await scene.fleet.core.store.write(Write(records=[unwritten]))
    await (await scene.talk()).act()
    assert await scene.fleet.core.store.records(Message, open_only=True) == []
    assert [line["id"] for line in await scene.said()] == [sent.id]


async def test_a_message_at_the_end_of_a_turn_is_said_instead_of_the_end(scene: Scene) -> None:
    talk = await scene.talk()
    await scene.fleet.send("agent-1", "one more thing")
    talk.mail = False
    scene.heard.take(Finished())
    await talk.act()
    assert scene.heard.end is None
    await until(lambda: scene.kept.lines(0)[0])
    scene.heard.take(Finished())
    await talk.act()
    assert (await ended(scene.kept)).code == 0


async def test_an_agent_at_its_limit_is_told_nothing_more_and_ends(scene: Scene) -> None:
    talk = await scene.talk()
    await scene.fleet.send("agent-1", "hello?")
    scene.heard.take(Limited("no more"))
    await talk.act()
    assert await scene.said() == []
    assert isinstance(scene.heard.end, Limited)
    assert len(await scene.fleet.core.store.records(Message, open_only=True)) == 1


async def test_a_message_that_comes_too_late_stays_for_the_next_run(scene: Scene) -> None:
    talk = await scene.talk()
    scene.kept.close_input()
    await scene.fleet.send("agent-1", "hello?")
    await talk.act()
    [message] = await scene.fleet.core.store.records(Message, open_only=True)
    assert message.text == "hello?"


async def test_a_rule_is_about_all_of_a_request_however_long_it_is(scene: Scene) -> None:
    rules = [Rule(tool="shell", match="git push*", then=Ruling.DENY), Rule(then=Ruling.ALLOW)]
    words = f"echo {'a' * 100_000}\ngit push --force\necho {'b' * 100_000}"
    talk = await scene.talk(*rules)
    await scene.hear(talk, Wants("w1", "shell", words))
    await talk.act()
    assert await scene.said() == [permission(allowed=False, why="deny shell git push*")]
