"""Which agent program a new fleet uses: the first that is installed and logged in."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from codefleet.coder import Coder, Probe, Probed
from codefleet.coders import registry
from codefleet.config import Config
from codefleet.runner.process.custody import environment
from codefleet.runner.programs import login, probe
from codefleet.runner.programs.installed import program_of

ORDER = ("claude", "codex", "gemini", "opencode")
"""Order of preference among the programs that are ready."""


class Candidate(NamedTuple):
    """A coder whose program is installed here."""

    name: str
    logged_in: bool | None
    missing_variables: Sequence[str] = ()
    log_in: str = ""
    silent: str = ""

    @property
    def is_ready(self) -> bool:
        """Does it run, and is it logged in, or would be if an existing key were passed on?"""
        return not self.silent and bool(self.logged_in or self.missing_variables)


async def candidates(config: Config) -> list[Candidate]:
    """The installed programs in order of preference; uses no tokens."""
    found = await asyncio.gather(*(_candidate(name, config) for name in ORDER))
    return [each for each in found if each]


def preferred(found: Sequence[Candidate]) -> Candidate | None:
    """The program to use: the first that is logged in, or else the first that has a key."""
    logged_in = [each for each in found if each.logged_in]
    return next(iter([*logged_in, *(each for each in found if each.is_ready)]), None)


async def _candidate(name: str, config: Config) -> Candidate | None:
    coder = registry.coder(name)
    options = config.coders.get(name, {})
    program = program_of(coder, options)
    asked = _login_only(coder)
    if program is None or asked is None:
        return None
    env = environment(config.environment, coder.start(probe.sample(options)).env)
    told = await probe.examine(program, (), asked, env)
    if told.path is None:
        return None
    names = login.missing_variables(coder, config, "\n".join(probe.files_of(asked, env).values()))
    return Candidate(name, told.logged_in, names, asked.log_in, told.silent)


def _login_only(coder: Coder) -> Probe | None:
    return coder.probe._replace(version=(), help=()) if isinstance(coder, Probed) else None
