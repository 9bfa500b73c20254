"""Messages to agents: sent to one that listens, else kept for its next run."""

from collections.abc import Sequence

from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.events import event
from codefleet.domain.model import Event, Message, MessageId, Run, Task, TaskId
from codefleet.fleet.agents import Agents
from codefleet.fleet.lookup import live_worker, live_workers
from codefleet.ports import Store, Write

LONGEST_MESSAGE = 100_000
PREFIX = "m-"


class Messages(Agents):
    async def send(self, ref: str, text: str) -> Message:
        """Send a message to an agent, named by its seat, by its handle or by its task.

        The message names a `run` if an agent that listens is at work and gets it now; otherwise it
        waits for the next run.
        """
        refuse_unsendable(text)
        await self.core.permit(Right.SEND)
        agent, task, run = await self._addressee(ref)
        await self._refuse_outside(agent, task)
        message = await self._message(agent, task, run, text)
        await self.core.write(Write(records=[message], events=[_told(message, task)]))
        return message

    async def _message(self, agent: str, task: Task | None, run: Run | None, text: str) -> Message:
        """A message that is not sent yet."""
        return Message(
            id=new_message_id(),
            agent=agent,
            task=task.id if task else None,
            text=text,
            sent_at=await self.core.store.now(),
            run=run.id if run and run.listens else None,
        )

    async def _sending(self, tasks: Sequence[Task], text: str) -> Write:
        """The step that sends a message to the agent of each of these tasks."""
        messages = [await self._message(*await self._agent_of(task), text) for task in tasks]
        told = [_told(message, task) for message, task in zip(messages, tasks, strict=True)]
        return Write(records=messages, events=told)

    async def message(self, name: str) -> Message:
        """The message with this id."""
        found = await self.core.store.records(Message, ids=[name])
        if not found:
            raise NotFound(f"no message {name[:80]}", hint="`fleet show` lists those of a task")
        return found[0]

    async def _refuse_outside(self, agent: str, task: Task | None) -> None:
        """Refuse a message of a team to a seat that does not work for it, and may for others."""
        if task is None and await self.core.own_team() is not None:
            raise NotFound(
                f"{agent} does not work for your team now",
                hint="name a task, and its next run gets the message",
            )

    async def _addressee(self, ref: str) -> tuple[str, Task | None, Run | None]:
        """The seat, its task, and the run at work on it."""
        live = await self.core.store.runs(live=True)
        seats = {agent.name for agent in (await self._crew()).seats} | {run.agent for run in live}
        if ref in seats:
            run = next((run for run in live if run.agent == ref), None)
            return ref, await self.core.get(run.task) if run else None, run
        return await self._agent_of(await self._worker_or_task(ref, has_agents=bool(seats)))

    async def _agent_of(self, task: Task) -> tuple[str, Task, Run | None]:
        runs = await self.core.store.runs(tasks=[task.id])
        run = next((run for run in runs if run.is_live), None)
        return runs[-1].agent if runs else task.assignee or "", task, run

    async def _worker_or_task(self, ref: str, *, has_agents: bool) -> Task:
        if await live_workers(self.core, ref):
            return await live_worker(self.core, ref)
        return await self._unfinished(ref, has_agents=has_agents)

    async def _unfinished(self, ref: str, *, has_agents: bool) -> Task:
        try:
            task = await self.core.get(ref)
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


def _told(message: Message, task: Task | None) -> Event:
    """The event that tells of a message."""
    now, text = message.sent_at, message.text
    return event("message.sent", now, text, task=task, message=message.id, to=message.agent)


def refuse_unsendable(text: str) -> None:
    """Refuse a text that is empty or too long."""
    if not text.strip():
        raise Invalid("a message needs a text", hint='fleet send AGENT "mind the tests"')
    if len(text) > LONGEST_MESSAGE:
        raise Invalid(
            f"a message may have at most {LONGEST_MESSAGE} characters",
            hint="put long text in a file in the repo, and name the file",
        )


def new_message_id() -> MessageId:
    import secrets  # imported here, because it is slow and few commands need it

    return MessageId(f"{PREFIX}{secrets.token_hex(6)}")


def is_message(name: str) -> bool:
    """Is this the id of a message, among those of other nouns?"""
    return name.startswith(PREFIX)


async def unread(store: Store, task: TaskId | None = None) -> Sequence[Message]:
    """The messages, of all or on this task, that no agent has received."""
    said = await store.records(Message, open_only=True)
    return [message for message in said if task in (None, message.task)]
