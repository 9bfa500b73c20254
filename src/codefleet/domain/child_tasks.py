"""Tasks that agents create: what they may ask for, and how strictly the work lands."""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

from codefleet.domain.errors import Refused
from codefleet.domain.landing_modes import lands_by_itself
from codefleet.domain.model import Draft, Task
from codefleet.domain.routing import Route, choose

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
N = TypeVar("N", int, float)


class Limits(NamedTuple):
    """What an agent may set on the tasks that it creates.

    The first of `coders` is its own. `checks` are exact commands, `commands` are globs.
    """

    coders: Sequence[str]
    models: Collection[str | None]
    checks: Collection[str]
    commands: Collection[str]
    routes: Sequence[Route]
    attempts: int
    timeout_s: float


def child(draft: Draft, parent: Task, limits: Limits) -> Draft:
    """An agent's draft, refused if it oversteps its limits and capped by its parent's numbers."""
    _refuse_liberties(draft, limits)
    _refuse_elsewhere(draft, parent)
    route = choose(draft.evolve(repo=parent.repo), limits.routes)
    return draft.evolve(
        repo=parent.repo,
        team=parent.team,
        swarm=parent.swarm,
        coder=draft.coder or (None if route and route.coder else limits.coders[0]),
        priority=min(draft.priority, parent.priority),
        max_attempts=_least(draft.max_attempts, parent.max_attempts, limits.attempts),
        timeout_s=_least(draft.timeout_s, parent.timeout_s, limits.timeout_s),
    )


def _refuse_liberties(draft: Draft, limits: Limits) -> None:
    modes = (draft.lands, draft.stage.lands if draft.stage else None)
    if any(mode and lands_by_itself(mode) for mode in modes):
        raise Refused(
            "an agent may not decide that work lands automatically",
            hint="leave it out; the repository's settings decide how work lands",
        )
    if set(draft.options) - {"effort"}:
        raise Refused(
            "an agent may not set the arguments of another agent's program",
            hint="leave them out; a human sets them in fleet.toml",
        )
    for coder in filter(None, (draft.coder, draft.fallback)):
        if coder not in limits.coders:
            raise Refused(
                f"an agent may not choose the coder {coder}",
                hint=f"it may choose {', '.join(limits.coders)}; a human adds to spawn_coders",
            )
    if draft.model and draft.model not in limits.models:
        raise Refused(
            f"an agent may not choose the model {draft.model}",
            hint="leave it out; a human lists models for agents in spawn_models",
        )
    for command in draft.checks:
        is_listed = any(fnmatchcase(command, glob) for glob in limits.commands)
        if command not in limits.checks and not is_listed:
            raise Refused(
                f"an agent may not choose the command `{command[:200]}`",
                hint="leave it out: the repository's checks run anyway; a human lists commands for "
                "agents in spawn_checks",
            )


def _refuse_elsewhere(draft: Draft, parent: Task) -> None:
    if draft.repo not in (None, parent.repo):
        raise Refused(
            f"an agent at work in {parent.repo} may create tasks only there",
            hint="leave out the repository",
        )
    if draft.base and not COMMIT.fullmatch(draft.base):
        raise Refused(
            f"an agent may not start work from {draft.base[:80]!r}",
            hint="start from the trunk, or from a commit on your own branch",
        )


def _least(wanted: N | None, parent: N | None, usual: N) -> N | None:
    """The requested value, capped by the parent's; without a request, the parent's."""
    return parent if wanted is None else min(wanted, parent or usual)
