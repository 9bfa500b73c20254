"""The inbox: everything that waits for a human, and the human's replies."""

from collections.abc import Sequence
from datetime import datetime

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.accounts import sentence
from codefleet.domain.errors import Invalid, NotFound, Refused
from codefleet.domain.events import event
from codefleet.domain.lifecycle import Verb, move
from codefleet.domain.model import Alert, Decision, Question, QuestionId, Review, Task
from codefleet.domain.permissions import ANSWERS, answer_in
from codefleet.domain.review import reply
from codefleet.domain.run import last_made
from codefleet.domain.views import ALERT, HELD_WORK, InboxItem
from codefleet.domain.words import State
from codefleet.domain.workflow.results import GATE_OPTIONS, approval
from codefleet.fleet import places, questions, reviews
from codefleet.fleet.accounts import Accounts
from codefleet.ports import TaskQuery, Write


class Inbox(Accounts):
    async def inbox(self) -> Sequence[InboxItem]:
        """Agents' questions, work to review or held in the lane, logins, alerts; oldest first."""
        access.refuse(self.core.actor, Right.READ_STATUS)
        return await self._inbox()

    async def _inbox(self) -> Sequence[InboxItem]:
        asked = [
            InboxItem(
                kind="permission" if q.tool else "question",
                task=q.task,
                id=q.id,
                text=q.text,
                options=q.options,
                since=q.asked_at,
            )
            for q in await questions.still_open(self.core.store)
        ]
        reviews = [
            InboxItem(
                kind=HELD_WORK if t.approved else "review",
                task=t.id,
                id=t.id,
                text=f"{t.title}: {t.note}" if t.note else t.title,
                since=t.updated_at,
            )
            for t in await self.core.store.tasks(TaskQuery(states=[State.REVIEW]))
            if not t.approved or (t.note and not t.paused)
        ]
        others = [*await self._logins(), *await self._bad_settings(), *await self._alerts()]
        return sorted([*asked, *reviews, *others], key=lambda item: item.since)

    async def _alerts(self) -> Sequence[InboxItem]:
        """What monitors want humans to see."""
        return [
            InboxItem(
                kind=ALERT,
                task=alert.task,
                id=alert.id,
                text=f"{alert.by}: {alert.text}",
                since=alert.raised_at,
            )
            for alert in await self.core.store.records(Alert, open_only=True)
        ]

    async def _bad_settings(self) -> Sequence[InboxItem]:
        """Repos whose own settings only a human can fix."""
        return [
            InboxItem(
                kind="settings",
                id=name,
                text=why,
                since=places.unusable_since(self.core, name),
            )
            for name, why in places.unusable(self.core, await self.repos()).items()
        ]

    async def _logins(self) -> Sequence[InboxItem]:
        """Accounts that only a human can wake."""
        now = await self.core.store.now()
        return [
            InboxItem(kind="account", id=rest.account, text=sentence(rest, now), since=rest.since)
            for rest in await self.rests()
            if rest.until is None
        ]

    async def answer(self, ref: str, text: str) -> Task:
        """Answer a task's question (named by the task or the question), so that the task continues.

        An agent that waits for it in its turn gets it at once; one that stopped continues when all
        questions of its task are answered.
        """
        if not text.strip():
            raise Invalid("an answer needs a text", hint='fleet answer TASK "yes, do that"')
        await self.core.permit(Right.ANSWER)
        question = await self._open_question(ref)
        await self._refuse_unclear(question, text)

        async def step(task: Task) -> Write:
            now = await self.core.store.now()
            answered = question.evolve(
                answer=text,
                answered_at=now,
                answered_steady=await self.core.store.steady(),
                version=question.version + 1,
            )
            on = await self._after_answer(task, question, now)
            told = event("task.answered", now, text, task=task, question=question.id)
            return Write(tasks=[on], records=[answered], events=[told])

        return await self.core.change(question.task, step)

    async def _after_answer(self, task: Task, question: Question, now: datetime) -> Task:
        """The task, always with the next version, so that a concurrent stop has to look again."""
        others = [
            q
            for q in await questions.still_open(self.core.store)
            if q.task == task.id and q != question
        ]
        if task.state is State.ASKING and not others:
            return move(task, Verb.ANSWER, note="", updated_at=now)
        return task.evolve(updated_at=now, version=task.version + 1)

    async def _refuse_unclear(self, question: Question, text: str) -> None:
        """A permission request and a gate take only certain answers."""
        if question.tool and not answer_in(text):
            raise Invalid(
                f"answer a request to use {question.tool} with {', '.join(ANSWERS)}",
                hint=f'fleet answer {question.task} deny, or comment: "deny: use git mv"',
            )
        stage = (await self.core.get(question.task)).stage
        if stage and stage.gate is not None and not approval(text):
            raise Invalid(
                f"answer the gate {stage.name} with {' or '.join(GATE_OPTIONS)}",
                hint=f'fleet answer {question.task} approve, or comment: "reject: too early"',
            )

    async def land(self, ref: str, commit: str | None = None) -> Task:
        """Approve this work for the trunk: the lane takes it next.

        Only this `commit` may land; without one, what the last run delivered.
        """
        await self.core.permit(Right.LAND)

        async def step(task: Task) -> Write:
            if task.state is not State.REVIEW:
                raise Refused(
                    f"{task.id} is {task.state}; only work in review can land",
                    hint=f"`fleet show {task.id}` shows what it waits for",
                )
            now = await self.core.store.now()
            run = last_made(await self.core.store.runs(tasks=[task.id]))
            may = commit or (run.made if run else None)
            approved = task.evolve(approved=True, approved_commit=may, note="", updated_at=now)
            chosen = [run.evolve(tip=may, version=run.version + 1)] if run and commit else []
            return Write(
                tasks=[approved.evolve(version=task.version + 1)],
                runs=chosen,
                records=await reviews.decided(self.core, task, Decision.LANDED, now),
                events=[event("task.approved", now, task=task, commit=may)],
            )

        return await self.core.change(ref, step)

    async def reject(self, ref: str, why: str = "") -> Task:
        """Send work back to an agent, with a reason and the comments of its open review."""
        await self.core.permit(Right.REJECT)
        told = reply(await self._open_review(ref), why)
        if not told:
            raise Invalid("a rejection needs a reason", hint='fleet reject TASK "the reason"')

        async def step(task: Task) -> Write:
            if reply(await self._open_review(task.id), why) != told:
                raise Refused(
                    f"somebody commented on {task.id} meanwhile",
                    hint="look at the comments, and send it back again",
                )
            now = await self.core.store.now()
            undone = {"approved": False, "approved_commit": None}
            back = move(task, Verb.REJECT, **undone, note=told, updated_at=now)
            return Write(
                tasks=[back],
                records=await reviews.decided(self.core, task, Decision.SENT_BACK, now, why),
                events=[event("task.rejected", now, told, task=task)],
            )

        return await self.core.change(ref, step, verbatim=told)

    async def _open_review(self, ref: str) -> Review | None:
        return await reviews.open_review(self.core.store, await self.core.get(ref))

    async def _open_question(self, ref: str) -> Question:
        asked = await questions.still_open(self.core.store)
        exact = await self.core.store.records(Question, ids=[QuestionId(ref)])
        task = await self.core.get(exact[0].task if exact else ref)
        found = [q for q in asked if q.task == task.id and (not exact or q.id == exact[0].id)]
        if not found:
            raise NotFound(f"{ref} has no open question", hint="`fleet inbox` shows all of them")
        return found[0]
