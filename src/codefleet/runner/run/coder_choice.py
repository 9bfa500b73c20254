"""Which coder and model work on a run, and with which options."""

from codefleet.coder import Coder
from codefleet.coders.options import laid_over
from codefleet.coders.registry import coder as coder_named
from codefleet.domain.accounts import account_of
from codefleet.domain.routing import choose, coder_for
from codefleet.runner.lease import retry_write
from codefleet.runner.run.state import RunState


async def choose_coder(state: RunState) -> Coder:
    """The coder of this run, with the task's options applied to the settings."""
    if state.control.kept is None and (await _goes_back(state) or _is_unrouted(state)):
        await _route(state)
    coder = coder_named(state.run.coder)
    _apply_options(state, coder.name)
    return coder


def _is_unrouted(state: RunState) -> bool:
    """Are coder and model still to be chosen? A fallback that took over has them already."""
    return state.task.branch is None and state.task.fallback != ""


async def _goes_back(state: RunState) -> bool:
    """Take the task back from its fallback if its own coder is no longer resting."""
    own = state.task.rerouted_from
    if own is None or not state.context.serves(own.coder):
        return False
    resting = {rest.account for rest in await state.fleet.rests()}
    if account_of(own.coder, state.settings.coders) in resting:
        return False
    state.task = await retry_write(lambda: state.dispatch.go_back(state.task))
    return True


async def _route(state: RunState) -> None:
    """Choose coder and model, once for all runs of the task."""
    task, settings = state.task, state.settings
    route = choose(task, settings.route)
    coder = coder_for(task, settings.route, settings.coder)
    usual = settings.coders.get(coder, {}).get("model") or settings.model
    model = task.model or (route and route.model) or usual
    name = route.name if route else None
    state.task = await retry_write(
        lambda: state.dispatch.record_choices(state.run, coder=coder, model=model, route=name)
    )
    await state.lease.note(coder=coder, model=model)


def _apply_options(state: RunState, coder: str) -> None:
    """Let the task's own options override those of its coder in the settings."""
    usual = state.settings.coders
    own = laid_over(usual.get(coder, {}), state.task.options)
    state.settings = state.settings.evolve(coders={**usual, coder: own})
