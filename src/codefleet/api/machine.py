"""Verbs that look after the server's machine, as HTTP writes them."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import field

from codefleet.domain import access
from codefleet.domain.noun import Noun
from codefleet.domain.views import CoderFacts, Setting
from codefleet.fleet import Fleet

if TYPE_CHECKING:
    from codefleet.runner.gc.collector import Told


class Removed(Noun):
    """What was done to one thing; if it is not `gone`, the text says why it stays."""

    text: str
    gone: bool


class Finding(Noun):
    """One thing that was checked; `fix` says what to do if it is not as it should be.

    The `facts` about a coder are its name, and the version and the login of its program.
    """

    what: str
    fix: str
    must: bool
    facts: dict[str, Any] = field(default_factory=dict)


async def gc(fleet: Fleet, dry_run: bool = False) -> Sequence[Removed]:
    """Remove idle worktrees, branches of finished tasks and files of old runs; report each."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    return await _all(verbs.gc(Context(fleet), dry_run=dry_run))


async def cleanup_workflow(fleet: Fleet, ref: str) -> Sequence[Removed]:
    """Remove the branches and worktrees of a workflow that has ended; report each."""
    from codefleet.runner import verbs
    from codefleet.runner.context import Context

    return await _all(verbs.cleanup_workflow(Context(fleet), ref))


async def doctor(fleet: Fleet) -> Sequence[Finding]:
    """Check everything the fleet needs on the server's machine."""
    access.refuse_members(fleet.actor)
    from codefleet.runner import verbs

    found = await verbs.doctor(fleet.home)
    return [
        Finding(what=each.what, fix=each.mend, must=each.must, facts=dict(each.facts))
        for each in found
    ]


async def coders(fleet: Fleet) -> Sequence[CoderFacts]:
    """What each coder can do, and if the server's machine has its program."""
    from codefleet.runner import verbs

    return await verbs.coders(fleet)


async def settings(fleet: Fleet) -> Sequence[Setting]:
    """Every setting in force on the server's machine, and where its value comes from."""
    from codefleet.runner import verbs

    return await verbs.settings(fleet)


async def configure(fleet: Fleet, key: str, value: str) -> Setting:
    """Change a setting in the home's file; an empty value removes it, a bad one is refused."""
    from codefleet.runner import verbs

    return await verbs.configure(fleet, key, value)


async def _all(told: "AsyncIterator[Told]") -> Sequence[Removed]:
    return [Removed(text=each.text, gone=each.gone) async for each in told]
