"""What a run does with finished work, by landing mode: hand it on, or leave it on its branch."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from codefleet.domain.model import Evidence
from codefleet.domain.words import LandingMode
from codefleet.runner.process import custody
from codefleet.runner.run.leaks import leaked
from codefleet.runner.run.state import RunState

HandOver = Callable[[RunState, Evidence], Awaitable[None]]


async def hand_over(state: RunState, found: Evidence) -> None:
    """Hand over work that git and the checks found good, as the task's landing mode says."""
    mode = await state.dispatch.landing_mode_of(state.task, state.settings.landing)
    await HAND_OVERS[mode](state, found)


async def complete(state: RunState, how: str) -> None:
    """Leave first: whoever sees the task completed may clean up its worktree at once."""
    await state.leave()
    await state.lease.end(lambda run: state.dispatch.complete(run, how))


async def _to_lane(state: RunState, found: Evidence) -> None:
    """The lane lands it, unless it contains keys: then a human decides."""
    keys = await _keys_in(state, found)
    await (_submit_for_review(state, keys) if keys else _submit(state, approved=True))


async def _to_reviewer(state: RunState, found: Evidence) -> None:
    await _submit_for_review(state, await _keys_in(state, found))


async def _stay_on_branch(state: RunState, _: Evidence) -> None:
    await complete(state, f"on branch {state.run.branch}")


HAND_OVERS: Mapping[LandingMode, HandOver] = {
    LandingMode.QUEUE: _to_lane,
    LandingMode.REVIEW: _to_reviewer,
    LandingMode.BRANCH: _stay_on_branch,
}


async def _submit_for_review(state: RunState, keys: str) -> None:
    """A human decides, who is told what to look at."""
    note = "; ".join(filter(None, [keys, await _unlanded_start(state)]))
    await _submit(state, approved=False, note=note)


async def _submit(state: RunState, *, approved: bool, note: str = "") -> None:
    await state.leave()
    await state.lease.end(lambda run: state.dispatch.submit(run, approved=approved, note=note))


async def _keys_in(state: RunState, found: Evidence) -> str:
    """A warning naming the keys that the work would bring onto the trunk."""
    known = custody.secrets(state.settings)
    names = await leaked(Path(state.repo.path), found.tip, state.repo.trunk_ref, known)
    if not names:
        return ""
    warning = f"its commits contain the value of {', '.join(names)}; look before you land it"
    await state.warn([warning])
    return warning


async def _unlanded_start(state: RunState) -> str:
    """What a human should know who decides on work that did not begin at the trunk."""
    if await state.workspace.is_on_trunk(str(state.run.base)):
        return ""
    return "it began with work that has not landed and would land with it"
