"""Claims on files: who wants to change what, told to others who want the same."""

from collections.abc import Sequence

from codefleet.domain import scope
from codefleet.domain.access import Right
from codefleet.domain.errors import Invalid, Refused, Stale
from codefleet.domain.events import event
from codefleet.domain.file_claims import claims_id
from codefleet.domain.model import Event, FileClaim, FileClaims, TaskId
from codefleet.domain.noun import Noun
from codefleet.fleet import viewer
from codefleet.fleet.core import TRIES
from codefleet.fleet.memories import Memories
from codefleet.ports import TaskQuery, Write

MOST_PATHS = 100
LONGEST_PATH = 1000
MOST_IN_A_REPO = 1000


class ClaimResult(Noun):
    """Whether files are claimed now, and by whom they are if not."""

    claimed: bool
    held_by: tuple[FileClaim, ...] = ()


class Claims(Memories):
    async def claim_files(
        self, paths: Sequence[str], *, handle: str | None = None, repo: str | None = None
    ) -> ClaimResult:
        """Claim files, paths or globs, all or none, as long as your task is unfinished.

        It is advice: nobody is kept from changing them, but others of the team who claim them too
        are told.
        """
        await self.core.permit(Right.TALK)
        _refuse_unusable(paths)
        by = await viewer.speaker(self.core, handle)
        where = await self._memory_repo(repo)
        mine = await self._claim_of(by)
        for _ in range(TRIES):
            known = await self._known(mine.team, where)
            claims = await self._still_held(known.claims if known else ())
            held = [c for c in claims if c.handle != by and any(map(c.meets, paths))]
            if held:
                return ClaimResult(claimed=False, held_by=tuple(held))
            new = [mine.evolve(path=p) for p in dict.fromkeys(paths) if not _has(claims, by, p)]
            if len(claims) + len(new) > MOST_IN_A_REPO:
                raise Refused(f"{where} has too many claims", hint="claim folders, not files")
            whole = FileClaims(
                id=claims_id(mine.team, where),
                team=mine.team,
                repo=where,
                claims=(*claims, *new),
                version=known.version + 1 if known else 0,
            )
            try:
                await self.core.write(Write(records=[whole], events=[_told(mine, where, paths)]))
            except Stale:
                continue
            return ClaimResult(claimed=True)
        raise Stale(f"the claims in {where} keep changing", hint="try again")

    async def file_claims(self, repo: str | None = None) -> Sequence[FileClaim]:
        """The claims that hold, in one repo or in all; a team sees only its own."""
        sees = (await viewer.viewer(self.core)).sees
        found = await self.core.store.records(FileClaims)
        fitting = [each for each in found if repo in (None, each.repo) and sees(each)]
        return await self._still_held([claim for each in fitting for claim in each.claims])

    async def _known(self, team: str | None, repo: str) -> FileClaims | None:
        found = await self.core.store.records(FileClaims, ids=[claims_id(team, repo)])
        return found[0] if found else None

    async def _claim_of(self, handle: str) -> FileClaim:
        """A claim of whoever has this handle, without its path."""
        run = await self.core.asking()
        task = await self.core.get(run.task) if run else await self._addressee_of(handle)
        return FileClaim(
            path="",
            handle=handle,
            task=task.id if task else None,
            run=run.id if run else None,
            team=task.team if task else (await viewer.viewer(self.core)).team,
            claimed_at=await self.core.store.now(),
        )

    async def _still_held(self, claims: Sequence[FileClaim]) -> list[FileClaim]:
        """Those whose task is unfinished; without a task, those that are not old."""
        now = await self.core.store.now()
        ids: list[TaskId] = sorted({claim.task for claim in claims if claim.task})
        tasks = await self.core.store.tasks(TaskQuery(ids=ids)) if ids else ()
        over = {task.id for task in tasks if task.state.is_final}
        gone = {*ids} - {task.id for task in tasks} | over
        return [it for it in claims if it.task not in gone and not it.is_outdated(now)]


def _told(claim: FileClaim, repo: str, paths: Sequence[str]) -> Event:
    text = f"{claim.handle}: {', '.join(paths)}"
    at, by = claim.claimed_at, claim.handle
    return event("files.claimed", at, text, repo=repo, handle=by, team=claim.team)


def _has(claims: Sequence[FileClaim], handle: str, path: str) -> bool:
    return any((it.handle, it.path) == (handle, path) for it in claims)


def _refuse_unusable(paths: Sequence[str]) -> None:
    if not 0 < len(paths) <= MOST_PATHS:
        raise Invalid(f"claim 1 to {MOST_PATHS} files at once", hint="a glob names many files")
    if any(len(path) > LONGEST_PATH for path in paths):
        raise Invalid(f"a path has at most {LONGEST_PATH} characters", hint="name a folder")
    scope.valid(paths)
