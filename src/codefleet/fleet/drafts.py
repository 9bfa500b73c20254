"""Drafts: can this machine do what they ask? Refused now, in the same words at every door."""

from collections.abc import Sequence

from codefleet.domain.drafting import entry_name
from codefleet.domain.errors import FleetError, Invalid, NotFound
from codefleet.domain.model import Draft, Repo, Run
from codefleet.domain.suggestion import did_you_mean
from codefleet.domain.workflow.plan import called
from codefleet.fleet import places
from codefleet.fleet.repos import Repos

TRUNK = (None, "", "HEAD")
"""Bases that mean: start at the trunk, wherever it is when the work starts."""
LONGEST_REF = 250


class Drafts(Repos):
    async def _usable(self, drafts: Sequence[Draft], by: Run | None) -> Sequence[Draft]:
        """The drafts, refused if a coder cannot do one of them or a base does not exist."""
        for number, draft in enumerate(drafts):
            try:
                self.core.checks.refuse_unfit(draft, self.core.config.coders)
            except FleetError as unfit:
                if len(drafts) == 1 and draft.stage is None:
                    raise
                place = (
                    called(number, draft.name, ()) if draft.stage else entry_name(number + 1, draft)
                )
                raise Invalid(f"{place}: {unfit.problem}", hint=unfit.hint) from None
        return await self._based(drafts, by)

    async def _based(self, drafts: Sequence[Draft], by: Run | None) -> Sequence[Draft]:
        """The drafts with their bases checked; HEAD is the trunk, as is no base at all."""
        known: dict[tuple[str | None, str], str] = {}
        based = []
        for draft in drafts:
            base = None if draft.base in TRUNK else draft.base
            place = (draft.repo, base or "")
            if base and place not in known:
                known[place] = await self._base(draft.repo, base, by)
            based.append(draft.evolve(base=known.get(place)))
        return based

    async def _base(self, repo: str | None, ref: str, by: Run | None) -> str:
        """Where work starts: a ref that exists; for an agent or a member, the commit, which cannot
        move."""
        parent = await self.core.get(by.task) if by else None
        where = await self.repo(repo or (parent.repo if parent else await self._repo(None)))
        commit = await self.core.checks.commit(where, ref)
        if self.core.team and commit and not await self.core.checks.is_on_trunk(where, commit):
            commit = None  # other branches may be another team's
        if commit is None:
            raise Invalid(
                f"there is no commit {ref[:LONGEST_REF]!r} in {where.path}",
                hint="a team's work starts from the trunk, or from a commit on it"
                if self.core.team
                else "see `git branch --all`",
            )
        if parent is None:
            return commit if self.core.team else ref
        await self.core.checks.refuse_foreign_start(where, commit, parent)
        return commit

    async def _repo(self, name: str | None) -> str:
        repos = {repo.name: repo for repo in await self.core.store.records(Repo)}
        known = list(repos)
        if name is None and len(known) == 1:
            name = known[0]
        if name in repos:
            places.refuse_foreign(self.core, repos[name].path)
            return str(name)
        names = ", ".join(known)
        if name is None:
            hint = f"name one: {names}" if known else "run `fleet init` inside one"
            raise Invalid("which repository?", hint=hint)
        hint = did_you_mean(name, known, f"known: {names or 'none yet'}")
        raise NotFound(f"no repository {name}", hint=hint)
