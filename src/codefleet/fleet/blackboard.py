"""The blackboard of a swarm: post, read, mark as read, archive."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from codefleet.domain import access
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, NotFound, Stale
from codefleet.domain.events import event
from codefleet.domain.model import Event, Post, PostPriority, PostType
from codefleet.domain.swarm import most_urgent_first
from codefleet.domain.validation import checked, word
from codefleet.fleet import viewer
from codefleet.fleet.core import TRIES
from codefleet.fleet.lookup import find_swarm, open_swarm
from codefleet.fleet.swarms import Swarms
from codefleet.ports import Write

LARGEST_PAYLOAD = 64_000
MOST_READ, MOST_MARKED, MOST_ARCHIVED = 1000, 100, 1000
LONGEST_SUMMARY = 200


class Blackboard(Swarms):
    async def post(
        self,
        swarm: str,
        type: str,
        payload: dict[str, Any],
        *,
        sender: str | None = None,
        target: str | None = None,
        priority: str = PostPriority.NORMAL,
    ) -> Post:
        """Post on a swarm's blackboard, for everybody there or for one `target`."""
        said = {"type": type, "payload": payload, "target": target, "priority": priority}
        stored = await self.core.write(await self._posting(swarm, said, sender))
        return _posts(stored)[0]

    async def _posting(self, swarm: str, said: Mapping[str, Any], sender: str | None) -> Write:
        """The step that posts this on a blackboard."""
        import secrets  # imported here, because it is slow and few commands need it

        await self.core.permit(Right.TALK)
        board = await open_swarm(self.core, swarm)
        now = await self.core.store.now()
        place = {"id": f"p-{secrets.token_hex(6)}", "swarm": board.id, "team": board.team}
        by = await viewer.speaker(self.core, sender)
        made = checked(Post, {**said, **place, "sender": by, "posted_at": now})
        told = event(
            "blackboard.posted",
            now,
            _summary(made),
            swarm=board.id,
            post=made.id,
            sender=by,
            to=made.target,
            team=board.team,
        )
        return Write(records=[made], events=[told])

    async def read_posts(
        self,
        swarm: str,
        *,
        reader: str | None = None,
        type: str | None = None,
        priority: str | None = None,
        unread_only: bool = False,
        limit: int = 100,
    ) -> Sequence[Post]:
        """What is on a blackboard for a reader: the most urgent first, then the newest.

        A human, or who plans, sees all of it if they name no reader.
        """
        access.refuse(self.core.actor, Right.LISTEN)
        _refuse_many(limit, MOST_READ)
        board = await find_swarm(self.core, swarm)
        who = await self._reader(reader, unread_only=unread_only)
        kind, urgency = word(type, PostType), word(priority, PostPriority)
        found = await self.core.store.records(Post, of=[board.id], open_only=True)
        fitting = [
            post
            for post in found
            if post.is_for(who)
            and kind in (None, post.type)
            and urgency in (None, post.priority)
            and not (unread_only and who in post.read_by)
        ]
        return most_urgent_first(fitting)[:limit]

    async def read_post(self, ref: str) -> Post:
        """The post with this id."""
        who = await self._reader(None, unread_only=False)
        (post,) = await self._found([ref])
        if not post.is_for(who):
            raise _no_post(ref)
        return post

    async def mark_posts_read(
        self, ids: Sequence[str], *, reader: str | None = None
    ) -> Sequence[Post]:
        """Mark posts as read by one reader, who sees them; the others keep their own marks."""
        access.refuse(self.core.actor, Right.LISTEN)
        _refuse_many(len(ids), MOST_MARKED)
        who = await viewer.speaker(self.core, reader)

        def read(post: Post) -> Post:
            if not post.is_for(who):
                raise _no_post(post.id)
            seen = (*post.read_by, who) if who not in post.read_by else post.read_by
            return post.evolve(read_by=seen)

        return await self._change(ids, read, lambda now: event("blackboard.read", now, who))

    async def archive_posts(
        self, swarm: str, *, ids: Sequence[str] = (), older_than: timedelta | None = None
    ) -> Sequence[Post]:
        """Take posts off a blackboard: those with these ids, or all that are older than this."""
        await self.core.permit(Right.SWARM)
        _refuse_many(len(ids), MOST_ARCHIVED)
        board = await find_swarm(self.core, swarm)
        now = await self.core.store.now()
        there = await self.core.store.records(Post, of=[board.id], open_only=True)
        old = [p.id for p in there if older_than is not None and now - p.posted_at > older_than]
        named = [post.id for post in there if post.id in {*ids}]
        if older_than is None and not ids:
            raise Invalid("which posts?", hint="name their ids, or an age")

        def archived(post: Post) -> Post:
            return post if post.archived_at else post.evolve(archived_at=now)

        return await self._change(
            [*named, *old], archived, lambda now: event("blackboard.archived", now, board.name)
        )

    async def _reader(self, wanted: str | None, *, unread_only: bool) -> str | None:
        """Whose view of a blackboard this is; None for a view of all of it."""
        if wanted is None and viewer.plans(self.core.actor) and not unread_only:
            return None
        return await viewer.speaker(self.core, wanted)

    async def _change(
        self,
        ids: Sequence[str],
        step: Callable[[Post], Post],
        told: Callable[[datetime], Event],
    ) -> Sequence[Post]:
        """Change posts, all or none; repeated if somebody else changed one at the same moment."""
        for _ in range(TRIES):
            found = await self._found(ids)
            after = [_next(post, step(post)) for post in found]
            changed = [new for old, new in zip(found, after, strict=True) if new is not old]
            if not changed:
                return after
            news = told(await self.core.store.now())
            try:
                await self.core.write(Write(records=changed, events=[_about(news, changed)]))
            except Stale:
                continue
            return after
        raise Stale("these posts keep changing", hint="try again")

    async def _found(self, ids: Sequence[str]) -> Sequence[Post]:
        wanted = list(dict.fromkeys(ids))
        sees = (await viewer.viewer(self.core)).sees
        found = [post for post in await self.core.store.records(Post, ids=wanted) if sees(post)]
        known = {str(post.id) for post in found}
        for each in wanted:
            if each not in known:
                raise _no_post(each)
        return found


def _summary(post: Post) -> str:
    """The beginning of a post's payload; one that is too large is refused."""
    text = msgspec.json.encode(post.payload).decode()
    if len(text) > LARGEST_PAYLOAD:
        raise Invalid(
            f"a payload may have at most {LARGEST_PAYLOAD:,} characters, not {len(text):,}",
            hint="put long text in a file in the repo, and name the file",
        )
    return f"{post.sender}: {post.type} {text[:LONGEST_SUMMARY]}"


def _next(old: Post, new: Post) -> Post:
    """The next version of a post, or the same one if nothing changes."""
    return old if new == old else new.evolve(version=old.version + 1)


def _about(news: Event, posts: Sequence[Post]) -> Event:
    """The event of a change, with the posts that it concerns and their team."""
    team = {"team": posts[0].team} if posts[0].team else {}
    return news.evolve(data={"swarm": posts[0].swarm, "posts": [post.id for post in posts], **team})


def _posts(step: Write) -> Sequence[Post]:
    return [record for record in step.records if isinstance(record, Post)]


def _refuse_many(asked: int, most: int) -> None:
    if not 0 <= asked <= most:
        raise Invalid(f"at most {most} posts at once", hint="ask for fewer, several times")


def _no_post(name: str) -> NotFound:
    return NotFound(f"no post {name[:80]}", hint="`fleet blackboard SWARM` shows them")
