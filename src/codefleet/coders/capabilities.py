"""Can the installed coders do what a plan asks of them? Checked before anything starts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from codefleet.coder import Assignment
from codefleet.coders.options import handed_on, laid_over
from codefleet.coders.registry import coder, refuse_unknown
from codefleet.domain.errors import FleetError, Invalid
from codefleet.domain.model import Draft, Run, RunId, RunnerId, Task, TaskId
from codefleet.domain.workflow import workflow
from codefleet.domain.workflow.plan import Plan, called

MAKERS = {"claude-": "claude", "gpt-": "codex", "gemini-": "gemini"}
"""Models whose names show which one of these coders has them."""

Options = Mapping[str, Mapping[str, object]]


def check(plan: Plan, usual: Options, lines: Sequence[int] = ()) -> None:
    """Refuse a stage whose coder is not installed, or lacks that model or option."""
    for number, draft in enumerate(workflow.drafts(plan, "", "")):
        try:
            refuse_unfit(draft, usual)
        except FleetError as unfit:
            place = called(number, draft.name, lines)
            raise Invalid(f"{place}: {unfit.problem}", hint=unfit.hint) from None


def refuse_unfit(draft: Draft, usual: Options) -> None:
    """Refuse a task whose coder is not installed, or lacks that model or option."""
    if draft.coder is not None:
        refuse_unknown(draft.coder)
    if draft.fallback:  # an empty one means: none
        refuse_unknown(draft.fallback)
    _refuse_unable(draft, usual)


def refuse_option(name: str, usual: Mapping[str, object], option: str, value: object) -> None:
    """Refuse an option that keeps a coder from starting which could start without it."""
    others = {each: usual[each] for each in usual if each != option}
    if _is_set_up(name, others):
        _try_out(name, handed_on({**others, option: value}))


def _refuse_unable(draft: Draft, usual: Options) -> None:
    if draft.coder is None:
        return
    if maker := _maker(draft.coder, draft.model):
        raise Invalid(
            f"{draft.coder} has no model {draft.model!r}",
            hint=f"that is a model of {maker}; leave it out, or name one of {draft.coder}'s",
        )
    own = usual.get(draft.coder, {})
    if _is_set_up(draft.coder, own):
        _try_out(draft.coder, laid_over(own, draft.options))


def _is_set_up(name: str, options: Mapping[str, object]) -> bool:
    """Could it start with these options? Not if it is not set up yet, or is a broken plug-in."""
    try:
        _try_out(name, handed_on(options))
    except Exception:
        return False
    return True


def _maker(name: str, model: str | None) -> str | None:
    """The coder that this model belongs to, if it is another one."""
    for beginning, maker in MAKERS.items():
        if name in MAKERS.values() and name != maker and (model or "").startswith(beginning):
            return maker
    return None


def _try_out(name: str, options: Mapping[str, object]) -> None:
    """Build the start command without running it, so that bad options are refused."""
    moment, folder = datetime.fromtimestamp(0, UTC), Path()
    task = Task(id=TaskId("t"), title="t", repo="r", created_at=moment, updated_at=moment)
    run = Run(
        id=RunId("t.1"),
        task=task.id,
        number=1,
        agent="a",
        runner=RunnerId("r"),
        host="h",
        fence=1,
        lease_until=moment,
        coder=name,
        started_at=moment,
    )
    coder(name).start(Assignment(run, task, "", folder / "prompt.md", folder, options))
