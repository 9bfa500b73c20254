"""A run's notes from start to end: laid out, brought home, redacted, and read."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from codefleet.domain import dialogue, result
from codefleet.domain.errors import Stale, WorkspaceTrouble
from codefleet.domain.model import Question, Result, Run
from codefleet.domain.signals import Asks
from codefleet.domain.words import ReportedStatus
from codefleet.runner.brief import notes
from codefleet.runner.file_redaction import redact_file
from codefleet.runner.lease import Lease
from codefleet.runner.paths import Paths
from codefleet.runner.process import stdin

TALK = ("stdout.jsonl", "stderr.log", stdin.LINES)
BLOCKED = "The agent reports that it is blocked, but not why."


class Notebook:
    """The notes of one run: in its worktree while it lasts, in its folder afterwards."""

    def __init__(self, paths: Paths, lease: Lease) -> None:
        self._paths, self._lease = paths, lease

    async def open(self, earlier: Sequence[Run], asked: Sequence[Question]) -> str:
        """Lay out the notes of earlier runs, and return the name of their folder."""
        run = self._lease.run
        folder = await _folder(run)
        contents = notes.latest([self._paths.run(each) for each in earlier])
        contents[notes.QUESTIONS] = dialogue.written(asked)
        await asyncio.to_thread(notes.write_all, folder, run.id, contents)
        return folder.name

    async def close(self) -> None:
        """Bring the notes home and redact all files; a step that fails is only reported."""
        for step in (self._collect, self._redact):
            try:
                await step(self._lease.run)
            except WorkspaceTrouble as trouble:
                with suppress(Stale):  # a run that lost its task cannot report
                    await self._lease.tell("run.warned", trouble.problem)

    async def close_for(self, run: Run) -> None:
        """The same for a run that lost its task, whose worktree may belong to another by now."""
        with suppress(WorkspaceTrouble):
            if _has_place(run) and notes.belongs_to(await _folder(run), run.id):
                await self._collect(run)
        with suppress(WorkspaceTrouble):
            await self._redact(run)

    async def report(
        self, asked: Sequence[Question], *, hands_on: bool = False
    ) -> tuple[Result | None, Asks | None]:
        """The result and the questions that the agent left in its notes.

        With `hands_on`, a blocked agent without a question passes its result to the next stage.
        """
        home = self._paths.run(self._lease.run)
        found = await self._result(notes.collected(home, notes.RESULT))
        fresh = dialogue.news(notes.collected(home, notes.QUESTIONS), asked)
        if fresh:
            options = fresh[0].options if len(fresh) == 1 else ()
            return found, Asks("\n\n".join(each.text for each in fresh), options)
        if found and found.status is ReportedStatus.BLOCKED and (found.question or not hands_on):
            return found, Asks(found.question or found.summary or BLOCKED, found.options)
        return found, None

    async def _result(self, text: str) -> Result | None:
        if not text:
            return None
        read = result.read(text)
        if read.problems:
            told = f"{notes.RESULT}: {'; '.join(read.problems)}"
            await self._lease.tell("run.warned", told)
        return read.result

    async def _collect(self, run: Run) -> None:
        if _has_place(run):
            home = self._paths.run(run)
            await asyncio.to_thread(notes.collect, await _folder(run), home)

    async def _redact(self, run: Run) -> None:
        """Redact what is kept; while the agent ran, its files could not be touched."""
        home, secrets = self._paths.run(run), self._lease.secrets

        def redact() -> None:
            for name in (*TALK, *notes.FILES):
                redact_file(home / name, secrets)

        await asyncio.to_thread(redact)


def _has_place(run: Run) -> bool:
    return bool(run.worktree and run.base and Path(run.worktree).is_dir())


async def _folder(run: Run) -> Path:
    worktree = Path(str(run.worktree))
    return worktree / await notes.folder_name(worktree, str(run.base))
