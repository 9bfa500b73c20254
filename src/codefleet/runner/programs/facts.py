"""What is known about each coder without starting its program."""

import os
import shutil
from collections.abc import Mapping

from codefleet.coder import Coder
from codefleet.coders import registry
from codefleet.config import Config
from codefleet.domain.errors import BadConfig
from codefleet.domain.views import CoderFacts
from codefleet.runner.process.custody import environment
from codefleet.runner.programs import login, probe
from codefleet.runner.programs.installed import missing, program_of


def facts_of_all(config: Config) -> list[CoderFacts]:
    """The facts about every coder; one that cannot be loaded is the doctor's to report."""
    found = []
    for name in registry.names():
        try:
            found.append(facts(registry.coder(name), config))
        except BadConfig:
            continue
    return found


def facts(coder: Coder, config: Config) -> CoderFacts:
    """What the settings and the folders of programs say about a coder."""
    options = config.coders.get(coder.name, {})
    program, can = program_of(coder, options), coder.abilities
    env = options.get("env")
    passed = environment(config.environment, env if isinstance(env, Mapping) else {})
    held_back = login.missing_variables(coder, config)
    return CoderFacts(
        name=coder.name,
        program=program,
        path=shutil.which(program, path=os.environ.get("PATH")) if program else None,
        trouble=missing(coder.name, config) or _not_set_up(coder, options),
        resume=can.resume,
        reports_cost=can.reports_cost,
        reports_context=can.reports_context,
        talks=can.talks,
        verified=can.verified and registry.is_built_in(coder.name),
        passed_on=tuple(name for name in (*can.keys, *can.gateways) if passed.get(name)),
        held_back=tuple(held_back),
        pass_on=login.pass_on(held_back, config).strip("`") if held_back else "",
    )


def _not_set_up(coder: Coder, options: Mapping[str, object]) -> str:
    """What a coder without a program of its own must be told first; empty if nothing."""
    try:
        probe.calls(coder, options)
    except BadConfig as wrong:
        return f"{wrong.problem}: {wrong.hint}"
    return ""
