"""A run's notes from start to end: laid out, brought home, redacted, and read."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from codefleet.domain import dialogue, result
from codefleet.domain.errors import Stale, Workspace
from codefleet.domain.model import Question, Result, Run
from codefleet.domain.signals import Asks
from codefleet.domain.words import Claimed
from codefleet.runner import channel
from codefleet.runner.agents import notes
from codefleet.runner.agents.redaction import redact_file
from codefleet.runner.hold import Hold
from codefleet.runner.places import Places

TALK = ("stdout.jsonl", "stderr.log", channel.LINES)
BLOCKED = "The agent reports that it is blocked, but not why."


class Notebook:
    """The notes of one run: in its worktree while it lasts, in its folder afterwards."""

    def __init__(self, places: Places, hold: Hold) -> None:
        self._places, self._hold = places, hold

    async def open(self, earlier: Sequence[Run], asked: Sequence[Question]) -> str:
        """Lay out the notes of earlier runs, and return the name of their folder."""
        run = self._hold.run
        folder = await _folder(run)
        contents = notes.latest([self._places.run(each) for each in earlier])
        contents[notes.QUESTIONS] = dialogue.written(asked)
        await asyncio.to_thread(notes.lay_out, folder, run.id, contents)
        return folder.name

    async def close(self) -> None:
        """Bring the notes home and redact all files; a step that fails is only reported."""
        for step in (self._bring_home, self._redact):
            try:
                await step(self._hold.run)
            except Workspace as trouble:
                with suppress(Stale):  # a run that lost its task cannot report
                    await self._hold.tell("run.warned", trouble.problem)

    async def close_for(self, run: Run) -> None:
        """The same for a run that lost its task, whose worktree may belong to another by now."""
        with suppress(Workspace):
            if _has_place(run) and notes.belongs_to(await _folder(run), run.id):
                await self._bring_home(run)
        with suppress(Workspace):
            await self._redact(run)

    async def says(
        self, asked: Sequence[Question], *, hands_on: bool = False
    ) -> tuple[Result | None, Asks | None]:
        """The result and the questions that the agent left in its notes.

        With `hands_on`, a blocked agent without a question passes its result to the next stage.
        """
        home = self._places.run(self._hold.run)
        found = await self._result(notes.at_home(home, notes.RESULT))
        fresh = dialogue.news(notes.at_home(home, notes.QUESTIONS), asked)
        if fresh:
            options = fresh[0].options if len(fresh) == 1 else ()
            return found, Asks("\n\n".join(each.text for each in fresh), options)
        if found and found.status is Claimed.BLOCKED and (found.question or not hands_on):
            return found, Asks(found.question or found.summary or BLOCKED, found.options)
        return found, None

    async def _result(self, text: str) -> Result | None:
        if not text:
            return None
        read = result.read(text)
        if read.problems:
            told = f"{notes.RESULT}: {'; '.join(read.problems)}"
            await self._hold.tell("run.warned", told)
        return read.result

    async def _bring_home(self, run: Run) -> None:
        if _has_place(run):
            home = self._places.run(run)
            await asyncio.to_thread(notes.bring_home, await _folder(run), home)

    async def _redact(self, run: Run) -> None:
        """Redact what is kept; while the agent ran, its files could not be touched."""
        home = self._places.run(run)
        for name in (*TALK, *notes.FILES):
            await asyncio.to_thread(redact_file, home / name, self._hold.secrets)


def _has_place(run: Run) -> bool:
    return bool(run.worktree and run.base and Path(run.worktree).is_dir())


async def _folder(run: Run) -> Path:
    worktree = Path(str(run.worktree))
    return worktree / await notes.folder_name(worktree, str(run.base))
