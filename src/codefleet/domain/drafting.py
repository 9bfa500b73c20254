"""What a task may not contain: refused now, before it costs a run or never starts one."""

from codefleet.domain import command, scope
from codefleet.domain.errors import Invalid
from codefleet.domain.model import Brief


def refuse_unusable(draft: Brief) -> None:
    """Refuse values that no run could use."""
    scope.valid(draft.scope)
    command.valid(draft.checks)
    for name in ("base", "model", "coder", "fallback", "assignee"):
        if "\0" in (getattr(draft, name) or ""):
            raise Invalid(f"{name}: a name cannot contain a NUL", hint="remove that character")
    if any("\0" in label for label in draft.labels):
        raise Invalid("labels: a name cannot contain a NUL", hint="remove that character")
    if draft.fallback and draft.fallback == draft.coder:
        raise Invalid(
            f"{draft.coder} cannot be its own fallback", hint="name another coder, or none"
        )
    if draft.assignee is not None and not draft.assignee.strip():
        raise Invalid("an assignee needs a name", hint="`fleet status` shows the agents")
