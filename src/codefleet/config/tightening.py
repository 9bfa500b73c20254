"""A repo's own file may be stricter than its owner's settings, never looser.

The file is on the trunk, so whatever lands can change it, and agents' work lands.
"""

from typing import Any

from codefleet.config.settings import DEFAULT
from codefleet.config.values import toml
from codefleet.domain.landing_modes import strictest
from codefleet.domain.words import LandingMode

NEVER_MORE = frozenset(
    {
        *("attempts", "restarts", "timeout_s", "check_timeout_s", "quiet_s", "stuck_s", "tool_s"),
        *("grace_s", "context_share"),
    }
)
NEVER_LESS = frozenset({"rest_s", "longest_rest_s", "limit_rest_s", "longest_limit_rest_s"})
OWNERS_CHOICE = frozenset({"coder", "model", "fallback", "route", "setup", "keep", "trunk"})
"""What a repo may choose if its owner did not."""


def tightened(key: str, owners: Any, repos: Any, *, is_set: bool) -> Any:
    """The value in force: the repo's if it is as strict, else the owner's."""
    value = owners if is_set else getattr(DEFAULT, key)
    if key in NEVER_MORE:
        return min(value, repos)
    if key in NEVER_LESS:
        return max(value, repos)
    if key == "landing":
        return strictest((LandingMode(value), LandingMode(repos)))
    if key == "checks":
        return [*value, *(check for check in repos if check not in value)]
    if key == "policy":
        return [*(owners or ()), *repos]
    return owners if is_set and key in OWNERS_CHOICE else repos


NOT_HELD = "; the repo's own file says "


def remark(source: str, asked: Any) -> str:
    """The source of a value that the repo's file could not loosen."""
    return f"{source}{NOT_HELD}{toml(asked)}, which is looser or not its choice"
