"""Starting an agent: alone in its folder, with its prompt, its notes and its tools."""

import asyncio
from pathlib import Path

from codefleet.coder import Assignment, Coder, Endpoint, Start
from codefleet.domain.model import Run
from codefleet.runner.brief import own_tools, prompt, resume
from codefleet.runner.brief.gather import asked_before, brief
from codefleet.runner.brief.notebook import Notebook
from codefleet.runner.brief.prompt import PromptInput
from codefleet.runner.lease import Lease
from codefleet.runner.output.permission import unenforced
from codefleet.runner.paths import Paths
from codefleet.runner.process import custody
from codefleet.runner.process.custody import AgentProcess
from codefleet.runner.programs.installed import refuse_missing
from codefleet.runner.run import stages
from codefleet.runner.run.state import RunState


async def kill_earlier_agents(lease: Lease, paths: Paths, notebook: Notebook) -> None:
    """Kill earlier agents whose runner lost its lease: never two agents in one folder."""
    for run in await lease.fleet.runs_of(lease.run.task):
        if run.number < lease.run.number and run.host == lease.run.host:
            kept = await custody.adopt(paths.run(run))
            if kept:
                kept.kill()
                await kept.ended()
            await asyncio.to_thread(custody.kill_tagged, run.id)
            await notebook.close_for(run)


async def start_agent(state: RunState, coder: Coder) -> AgentProcess:
    """Write the agent's prompt, and start it under a keeper."""
    state.task = await stages.with_results(state.fleet, state.task)
    return await _Launch(state, coder).agent()


class _Launch:
    """The start of one run."""

    def __init__(self, state: RunState, coder: Coder) -> None:
        self.state, self.coder = state, coder
        self.lease, self.fleet, self.settings = state.lease, state.fleet, state.settings

    @property
    def run(self) -> Run:
        return self.lease.run

    async def agent(self) -> AgentProcess:
        task, repo, conflicts = self.state.task, self.state.repo, self.state.conflicts
        given = await brief(self.fleet, task, self.run, repo, self.settings, conflicts)
        session = resume.session(given.earlier, self.coder, self.run.host)
        given = await self._continued(given, session)
        token = own_tools.grant(self.fleet, self.run.id, self.state.folder)
        start = self.coder.start(await self._assignment(prompt.compose(given), session, token))
        await self._tell(start)
        return await self._kept(start, given.notes, token)

    async def _assignment(self, text: str, session: str | None, token: Path) -> Assignment:
        """What the agent is to do, with its prompt in a file."""
        file = self.state.folder / "prompt.md"
        await asyncio.to_thread(file.write_text, text)
        return Assignment(
            run=self.run,
            task=self.state.task,
            prompt=text,
            prompt_file=file,
            worktree=Path(str(self.run.worktree)),
            options=self.settings.coders.get(self.coder.name, {}),
            resume=session,
            judged=[rule.tool for rule in self.settings.policy],
            tools=own_tools.command(self.fleet, token, self.settings.agent_tools),
            endpoint=self._endpoint(token),
        )

    def _endpoint(self, token: Path) -> Endpoint | None:
        if not self.coder.abilities.http_tools:
            return None
        url = self.state.context.tools_url
        return own_tools.endpoint(token, self.settings.agent_tools, url)

    async def _continued(self, given: PromptInput, session: str | None) -> PromptInput:
        """The same, with what earlier runs of the task left behind."""
        paths, host = self.state.context.paths, self.run.host
        left = await resume.left(given.earlier, self.coder, paths, host)
        asked = await asked_before(self.fleet, self.run)
        return given._replace(
            checkpoint=left,
            notes=await self.state.notebook.open(given.earlier, asked),
            resumed=session if self.coder.abilities.remembers else None,
        )

    async def _tell(self, start: Start) -> None:
        if start.listens:
            await self.lease.note(listens=True)
        if warning := unenforced(self.settings.policy, self.coder):
            await self.lease.tell("run.warned", warning)

    async def _kept(self, start: Start, notes: str, token: Path) -> AgentProcess:
        own = {
            "FLEET_RUN": self.run.id,
            "FLEET_TASK": self.run.task,
            "FLEET_NOTES": notes,
            own_tools.VARIABLE: str(token),
        }
        worktree = Path(str(self.run.worktree))
        env = custody.environment(self.settings.environment, {**own, **start.env})
        start = start._replace(env={**start.env, **own_tools.reached_directly(env)})
        refuse_missing(self.coder, start, env, worktree)
        return await custody.start(
            self.state.folder,
            start,
            cwd=worktree,
            env=env,
            run_id=self.run.id,
            grace_s=self.settings.grace_s,
            lock=self.state.workspace.lock(self.run),
        )
