"""Starting an agent: alone in its folder, with its prompt, its notes and its tools."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from codefleet.config import Config
from codefleet.domain.model import Repo, Run, Task
from codefleet.ports import Assignment, Coder, Start
from codefleet.runner import custody
from codefleet.runner.agents import continuing, own_tools, prompt
from codefleet.runner.agents.briefing import asked_before, brief
from codefleet.runner.agents.notebook import Notebook
from codefleet.runner.agents.permission import unheeded
from codefleet.runner.agents.programs import refuse_missing
from codefleet.runner.agents.prompt import Story
from codefleet.runner.custody import Kept
from codefleet.runner.hold import Hold
from codefleet.runner.places import Places


async def silence_earlier(hold: Hold, places: Places, notebook: Notebook) -> None:
    """Kill earlier agents whose runner lost its lease: never two agents in one folder."""
    for run in await hold.fleet.runs_of(hold.run.task):
        if run.number < hold.run.number and run.host == hold.run.host:
            kept = await custody.adopt(places.run(run))
            if kept:
                kept.kill()
                await kept.ended()
            await asyncio.to_thread(custody.sweep, run.id)
            await notebook.close_for(run)


class Launch:
    """The start of one run."""

    def __init__(
        self, hold: Hold, places: Places, notebook: Notebook, settings: Config, lock: int | None
    ) -> None:
        """The keeper inherits the `lock` on the run's worktree."""
        self.hold, self.fleet, self.places = hold, hold.fleet, places
        self.notebook, self.settings, self.lock = notebook, settings, lock

    @property
    def run(self) -> Run:
        return self.hold.run

    async def agent(self, coder: Coder, task: Task, repo: Repo, conflicts: Sequence[str]) -> Kept:
        """Write the agent's prompt, and start it under a keeper."""
        folder = self.places.run(self.run)
        story = await brief(self.fleet, task, self.run, repo, self.settings, conflicts)
        session = continuing.session(story.earlier, coder, self.run.host)
        story = await self._continued(story, coder, session)
        file = folder / "prompt.md"
        await asyncio.to_thread(file.write_text, text := prompt.compose(story))
        token = own_tools.grant(self.fleet, self.run.id, folder)
        start = coder.start(
            Assignment(
                run=self.run,
                task=task,
                prompt=text,
                prompt_file=file,
                worktree=Path(str(self.run.worktree)),
                options=self.settings.coders.get(coder.name, {}),
                resume=session,
                judged=[rule.tool for rule in self.settings.policy],
                tools=own_tools.offered(self.fleet, token, wanted=self.settings.agent_tools),
            )
        )
        await self._tell(start, coder)
        return await self._kept(coder, start, folder, story.notes, token)

    async def _continued(self, story: Story, coder: Coder, session: str | None) -> Story:
        """The story, with what earlier runs of the task left behind."""
        left = await continuing.left(story.earlier, coder, self.places, self.run.host)
        asked = await asked_before(self.fleet, self.run)
        return story._replace(
            checkpoint=left,
            notes=await self.notebook.open(story.earlier, asked),
            resumed=session if coder.abilities.remembers else None,
        )

    async def _tell(self, start: Start, coder: Coder) -> None:
        if start.listens:
            await self.hold.note(listens=True)
        if warning := unheeded(self.settings.policy, coder):
            await self.hold.tell("run.warned", warning)

    async def _kept(
        self, coder: Coder, start: Start, folder: Path, notes: str, token: Path
    ) -> Kept:
        own = {
            "FLEET_RUN": self.run.id,
            "FLEET_TASK": self.run.task,
            "FLEET_NOTES": notes,
            own_tools.VARIABLE: str(token),
        }
        worktree = Path(str(self.run.worktree))
        env = custody.environment(self.settings.environment, {**own, **start.env})
        refuse_missing(coder, start, env, worktree)
        return await custody.start(
            folder,
            start,
            cwd=worktree,
            env=env,
            run_id=self.run.id,
            grace_s=self.settings.grace_s,
            lock=self.lock,
        )
