"""Messages from humans to agents: sent to one that listens, else kept for its next run."""

from collections.abc import Sequence

from codefleet.domain.errors import Invalid, NotFound, Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Message, MessageId, Run, Task, TaskId
from codefleet.domain.secrets import redact
from codefleet.fleet.agents import Agents
from codefleet.ports import Write

LONGEST_MESSAGE = 100_000


class Messages(Agents):
    async def send(self, ref: str, text: str) -> Message:
        """Send a message to an agent, named by its seat or by its task.

        The message names a `run` if an agent that listens is at work and gets it now; otherwise it
        waits for the next run.
        """
        import secrets  # imported here, because it is slow and few commands need it

        if not text.strip():
            raise Invalid("a message needs a text", hint='fleet send AGENT "mind the tests"')
        if len(text) > LONGEST_MESSAGE:
            raise Invalid(
                f"a message may have at most {LONGEST_MESSAGE} characters",
                hint="put long text in a file in the repo, and name the file",
            )
        await self.permit("send messages")
        agent, task, run = await self._addressee(ref)
        message = Message(
            id=MessageId(f"m-{secrets.token_hex(6)}"),
            agent=agent,
            task=task.id if task else None,
            text=text,
            sent_at=await self.store.now(),
            run=run.id if run and run.listens else None,
        )
        now, words = message.sent_at, redact(text)  # the agent gets all of it, the log no keys
        told = event("message.sent", now, words, task=task, message=message.id, to=agent)
        await self.store.write(Write(messages=[message], events=[told]))
        return message

    async def messages_for(self, run: Run) -> Sequence[Message]:
        """The messages for this run: on its task or, if they are on none, to its seat."""
        return [m for m in await self.store.messages(open_only=True) if _is_for(m, run)]

    async def messages_on(self, task: Task) -> Sequence[Message]:
        """The messages that agents received while they worked on this task."""
        return [m for m in await self.store.messages() if m.task == task.id and m.delivered_at]

    async def unread(self, task: TaskId | None = None) -> Sequence[Message]:
        """The messages, of all or on this task, that no agent has received."""
        said = await self.store.messages(open_only=True)
        return [message for message in said if task in (None, message.task)]

    async def delivered(self, message: Message, run: Run) -> None:
        """Record that the agent of this run has received the message."""
        now = await self.store.now()
        got = message.evolve(
            run=run.id, task=run.task, delivered_at=now, version=message.version + 1
        )
        told = event("message.delivered", now, redact(message.text), run=run, message=message.id)
        try:
            await self.store.write(Write(messages=[got], events=[told]))
        except Stale:
            return  # already recorded

    async def _addressee(self, ref: str) -> tuple[str, Task | None, Run | None]:
        """The seat, its task, and the run at work on it."""
        live = await self.store.runs(live=True)
        seats = {agent.name for agent in await self.agents()} | {run.agent for run in live}
        if ref in seats:
            run = next((run for run in live if run.agent == ref), None)
            return ref, await self.get(run.task) if run else None, run
        task = await self._unfinished(ref, has_agents=bool(seats))
        runs = await self.store.runs(tasks=[task.id])
        run = next((run for run in runs if run.is_live), None)
        return runs[-1].agent if runs else task.assignee or "", task, run

    async def _unfinished(self, ref: str, *, has_agents: bool) -> Task:
        try:
            task = await self.get(ref)
        except NotFound:
            raise NotFound(
                f"no agent and no task {ref[:80]}",
                hint="`fleet status` shows the agents"
                if has_agents
                else "no agents are running; name a task, and its next run gets the message",
            ) from None
        if task.state.is_final:
            raise Refused(
                f"{task.id} is {task.state}: no agent works on it any more",
                hint=f"`fleet retry {task.id}` if it failed, or add a new task",
            )
        return task


def _is_for(message: Message, run: Run) -> bool:
    return message.task == run.task if message.task else message.agent == run.agent
