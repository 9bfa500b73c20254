"""The screen as its user sees it: keys, pages, dialogs, and a store that becomes unreachable."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from codefleet.domain.errors import StoreTrouble
from codefleet.domain.words import State
from codefleet.doors.cli.screen.app import FleetApp
from codefleet.doors.cli.screen.lines import Lines
from codefleet.doors.cli.screen.view import ScreenView
from codefleet.fleet import Fleet
from codefleet.fleet.dispatch import Dispatch
from tests.doors.screen.scene import HOSTILE, Scene, busy, scene

BOUND_S = 30.0
ROOT = Path(__file__).parents[3]


class Screen:
    """An application, the fleet behind it, and a way to press keys and wait."""

    def __init__(self, made: Scene, app: FleetApp, pilot: Pilot[None]) -> None:
        self.scene, self.fleet, self.app, self.pilot = made, made.fleet, app, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(BOUND_S):
            while not condition():
                await self.pilot.pause(0.01)

    async def until_state(self, task: str, state: State) -> None:
        async with asyncio.timeout(BOUND_S):
            while (await self.fleet.get(task)).state is not state:
                await self.pilot.pause(0.01)

    async def choose(self, key: str) -> None:
        self.app.choose(key)
        await self.pilot.pause()

    def text(self, id: str = "board") -> str:
        lines = self.app.screen.query_one(f"#{id}", Lines)
        return "\n".join(row.text for row in lines.rows)

    @property
    def keys(self) -> str:
        return self.text("keys")

    @property
    def toasts(self) -> str:
        return "\n".join(str(it.message) for it in self.app._notifications)


@asynccontextmanager
async def opened(home: Path, **options: Any) -> AsyncIterator[Screen]:
    async with scene(home) as made:
        await busy(made)
        app = FleetApp(made.fleet, **options)
        async with app.run_test(size=(110, 40), notifications=True) as pilot:
            screen = Screen(made, app, pilot)
            await screen.until(lambda: app.lines.rows)
            yield screen


@pytest.fixture
async def screen(tmp_path: Path) -> AsyncIterator[Screen]:
    async with opened(tmp_path / "home") as made:
        yield made


async def test_the_most_urgent_is_chosen_until_the_user_moves(screen: Screen) -> None:
    assert screen.app._chosen == "need:q2v8ynrt.1.q"
    await screen.press("j", "down", "k")
    assert screen.app._chosen == "need:p7x3bskd.1.q"
    await screen.press("G")
    assert screen.app._chosen.startswith("task:")
    await screen.press("g")
    assert screen.app._chosen == "need:q2v8ynrt.1.q"


async def test_only_what_is_legal_is_offered(screen: Screen) -> None:
    assert "a answer" in screen.keys
    assert "l land" not in screen.keys
    await screen.choose("need:c6h9zfmw")
    assert "l land" in screen.keys
    assert "r reject" in screen.keys
    assert "a answer" not in screen.keys
    await screen.choose("task:g8w5mdpx")
    assert "p resume" in screen.keys
    await screen.choose("task:n4t8wq2c")
    assert "c cancel" not in screen.keys
    await screen.press("c", "l", "p", "t")
    assert len(screen.app.screen_stack) == 1


async def test_a_question_is_answered_by_the_number_of_an_option(screen: Screen) -> None:
    await screen.press("a")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.press("2")
    await screen.until_state("q2v8ynrt", State.PENDING)
    (question,) = (await screen.fleet.details("q2v8ynrt")).questions
    assert question.answer == "json"
    await screen.until(lambda: "q2v8ynrt continues" in screen.toasts)
    await screen.until(lambda: "Which format" not in screen.text())


async def test_a_permission_takes_own_words(screen: Screen) -> None:
    await screen.choose("need:p7x3bskd.1.q")
    await screen.press("a")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.press("tab", *"deny:", "space", *"no", "enter")
    await screen.until_state("p7x3bskd", State.PENDING)
    (question,) = (await screen.fleet.details("p7x3bskd")).questions
    assert question.answer == "deny: no"


async def test_an_error_of_the_core_is_a_sentence_and_a_hint(screen: Screen) -> None:
    await screen.choose("need:p7x3bskd.1.q")
    await screen.press("a")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.press("tab", *"hm", "enter")
    await screen.until(lambda: "allow" in screen.toasts)
    assert "fleet answer" in screen.toasts
    assert (await screen.fleet.get("p7x3bskd")).state is State.ASKING


async def test_work_is_rejected_with_a_reason(screen: Screen) -> None:
    await screen.choose("need:c6h9zfmw")
    await screen.press("r")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.press(*"greener", "enter")
    await screen.until_state("c6h9zfmw", State.PENDING)
    assert (await screen.fleet.get("c6h9zfmw")).note == "greener"


async def test_cancelling_asks_first(screen: Screen) -> None:
    await screen.choose("task:y6t4jczn")
    await screen.press("c")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.press("n")
    await screen.until(lambda: len(screen.app.screen_stack) == 1)
    assert (await screen.fleet.get("y6t4jczn")).state is State.PENDING
    await screen.press("c")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.press("y")
    await screen.until_state("y6t4jczn", State.CANCELLED)


async def test_words_are_sent_to_an_agent(screen: Screen) -> None:
    await screen.choose("task:k3m9x2pa")
    await screen.press("s")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.press(*"mind", "enter")
    await screen.until(lambda: "gets it" in screen.toasts)
    (message,) = (await screen.fleet.details("k3m9x2pa")).unread
    assert (message.task, message.text) == ("k3m9x2pa", "mind")


async def test_a_task_and_the_whole_fleet_are_paused_and_resumed(screen: Screen) -> None:
    await screen.choose("task:y6t4jczn")
    await screen.press("p")
    await screen.until(lambda: "p resume" in screen.keys)
    await screen.press("p")
    await screen.until(lambda: "p pause" in screen.keys)
    await screen.press("P")
    await screen.until(lambda: "paused" in screen.text("head"))
    await screen.press("P")
    await screen.until(lambda: "paused" not in screen.text("head"))


async def test_a_failed_task_is_retried_and_an_account_woken(screen: Screen) -> None:
    await screen.choose("need:m4k2wtqa")
    await screen.press("t")
    await screen.until_state("m4k2wtqa", State.PENDING)
    await screen.choose("need:claude")
    await screen.press("w")
    await screen.until(lambda: "claude can be used again" in screen.toasts)
    await screen.until(lambda: "logged out" not in screen.text())


async def test_a_task_opens_with_the_live_words_of_its_agent(screen: Screen) -> None:
    await screen.choose("task:k3m9x2pa")
    await screen.press("enter")
    await screen.until(lambda: len(screen.app.screen_stack) == 2)
    await screen.until(lambda: "Edit src/mail/send.py" in screen.text("page"))
    (run,) = await screen.fleet.runs_of((await screen.fleet.get("k3m9x2pa")).id)
    await screen.scene.tell(run, "run.said", "Now the tests " + HOSTILE)
    await screen.until(lambda: "Now the tests Evil [red]bold" in screen.text("page"))
    assert all(line.isprintable() for line in screen.text("page").splitlines())
    await screen.press("escape")
    assert len(screen.app.screen_stack) == 1


async def test_words_after_a_slash_filter_the_board(screen: Screen) -> None:
    await screen.press("slash", *"mailer", "enter")
    assert "Extract the mailer" in screen.text()
    assert "Describe the API" not in screen.text()
    await screen.press("escape")
    assert "Describe the API" in screen.text()


async def test_help_lists_the_keys(screen: Screen) -> None:
    await screen.press("question_mark")
    assert "cancel it; its work is kept" in screen.text("page")
    await screen.press("q")
    assert len(screen.app.screen_stack) == 1


async def test_while_the_store_is_away_the_last_board_stays(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreTrouble("the store does not answer", hint="is it up?")

    with monkeypatch.context() as patched:
        patched.setattr(Fleet, "last_seq", away)
        await screen.scene.add("zzzzzzzz", "Comes later")
        await screen.until(lambda: "store unreachable since" in screen.text("head"))
        assert "Extract the mailer" in screen.text()
        await screen.until(lambda: "the store does not answer" in screen.toasts)
        await screen.press("j", "P", "p")
    await screen.until(lambda: "● live" in screen.text("head"))
    assert "Comes later" in screen.text()


async def test_the_screen_follows_what_happens(screen: Screen) -> None:
    await screen.scene.add("zzzzzzzz", "Comes later")
    await screen.until(lambda: "Comes later" in screen.text())
    await Dispatch(screen.fleet).landed((await screen.fleet.get("r5j8ndvc")).id, "f" * 40)
    await screen.until(lambda: "5 of 18 done" in screen.text("head"))
    assert "fffffff" in screen.text()


async def test_q_asks_the_runner_to_stop_and_does_not_leave(tmp_path: Path) -> None:
    asked: list[str] = []
    async with opened(tmp_path / "home", stop=lambda: asked.append("stop")) as screen:
        await screen.press("q", "ctrl+c")
        assert asked == ["stop", "stop"]
        screen.app.tell("stopping gracefully; again stops at once")
        assert "stopping gracefully" in screen.text()


async def test_a_narrow_screen_keeps_help_and_quit(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as screen:
        await screen.pilot.resize_terminal(60, 20)
        await screen.until(lambda: max(map(len, screen.text().splitlines())) <= 60)
        assert "? help" in screen.keys
        assert "q quit" in screen.keys


async def test_a_screen_that_breaks_leaves_lines(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(app: FleetApp) -> None:
        app._handle_exception(ValueError("a mistake in the screen"))

    monkeypatch.setattr(FleetApp, "run_async", broken)
    async with scene(tmp_path / "home") as made:
        following = asyncio.create_task(ScreenView(made.fleet).follow())
        told = ""
        async with asyncio.timeout(BOUND_S):
            while "Comes later" not in told:
                if "the screen crashed" in told:
                    await made.add(f"z{len(told):07}", "Comes later")
                await asyncio.sleep(0.01)
                told += "".join(capfd.readouterr())
        following.cancel()
    assert "a mistake in the screen" in (tmp_path / "home/logs/crash.log").read_text()


def test_the_picture_in_the_docs_shows_the_screen() -> None:
    picture = (ROOT / "docs/how-to/watch-the-fleet.svg").read_text().replace("&#160;", " ")
    for heading in ("NEEDS YOU", "WORKING", "LANE", "NEXT UP", "JUST LANDED", "about"):
        assert heading in picture
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
