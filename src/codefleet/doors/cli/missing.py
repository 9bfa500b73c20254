"""Warnings of tasks that no agent on this machine can do, before a run fails."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from codefleet.domain.errors import BadConfig
from codefleet.domain.model import Task
from codefleet.doors.cli.call import say
from codefleet.doors.cli.text import clean

if TYPE_CHECKING:
    from codefleet.config import Config
    from codefleet.fleet import Fleet


def point_out_missing(fleet: "Fleet", tasks: Sequence[Task]) -> None:
    """Warn of programs that are not installed, and of scripted agents without a script."""
    from codefleet.domain.routing import coder_for
    from codefleet.runner.elsewhere import elsewhere
    from codefleet.runner.programs.installed import missing, without_script

    warnings = {}
    for task in () if elsewhere(fleet) else tasks:
        config = _settings(fleet, task.repo)
        name = coder_for(task, config.route, config.coder)
        warnings[missing(name, config) or without_script(task, name, config)] = task
    for warning in filter(None, warnings):
        say(f"warning: {clean(warning)}")


def _settings(fleet: "Fleet", repo: str) -> "Config":
    """The settings that a run in this repo has; those of a file that cannot be used are told."""
    from codefleet.config import load

    try:
        return load(fleet.home, repo_name=repo, env=os.environ)
    except BadConfig as wrong:
        say(clean(f"warning: {wrong.problem}"))
        return fleet.config.for_repo(repo)
