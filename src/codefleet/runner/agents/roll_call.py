"""Every coder's program, probed at once: which are installed, and do the needed ones work?"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from codefleet.coders import registry
from codefleet.config import Config
from codefleet.domain.errors import BadConfig, FleetError
from codefleet.domain.model import Task
from codefleet.ports import Coder, Probe, Probed
from codefleet.runner.agents import login, probe
from codefleet.runner.agents.probe import Program
from codefleet.runner.custody import environment
from codefleet.runner.finding import Finding

NO_PROBE = Probe(version=(), help=())

Wanted = Mapping[str, str]
"""Names of the coders that are needed, each with what needs it."""


class Called(NamedTuple):
    """A coder, and its program if it could be probed; else what is wrong with it.

    A coder that nobody has set up is not broken.
    """

    name: str
    program: Program | None = None
    wrong: str = ""
    mend: str = ""
    is_broken: bool = False
    setting: str = ""
    log_in: str = ""
    withheld: Sequence[str] = ()
    pass_on: str = ""
    lacks_gateway: bool = False


def wanted(settings: Mapping[str, Config], tasks: Iterable[Task]) -> Wanted:
    """The coders that settings and unfinished tasks name."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for place, config in settings.items():
        for setting, name in (("coder", config.coder), ("fallback", config.fallback)):
            if name:
                reasons[name].append(f"the setting `{setting}` {place}")
        for route in config.route:
            if route.coder:
                reasons[route.coder].append(f"the rule {route.name} {place}")
    for task in tasks:
        for name in filter(None, (task.coder, task.fallback)):
            reasons[name].append(f"task {task.id}")
    return {name: why[0] for name, why in reasons.items()}


async def roll_call(config: Config, wanted: Wanted) -> list[Finding]:
    """The findings about every coder that is installed or wanted."""
    names = registry.names()
    called = await asyncio.gather(*(_call(name, config) for name in names))
    named = {*wanted, *config.coders}
    absent = [each for each in called if _is_absent(each) and each.name not in named]
    return [
        *_unknown(wanted, names),
        *(_finding(each, wanted) for each in called if each not in absent),
        *_absent(absent),
    ]


async def _call(name: str, config: Config) -> Called:
    options = config.coders.get(name, {})
    try:
        coder = registry.coder(name)
    except Exception as wrong:  # a third-party plug-in may raise anything
        return _unusable(name, wrong, is_broken=True)
    try:
        calls = probe.calls(coder, options)
    except Exception as wrong:
        return _unusable(name, wrong, is_broken=bool(options) or not isinstance(wrong, BadConfig))
    asked, setting = NO_PROBE, "argv"
    if isinstance(coder, Probed):
        asked, setting = coder.probe, "program"
    used = [flag for argv in calls for flag in probe.flags(argv)] if asked.help else []
    env = environment(config.environment, _variables(coder, options))
    program = await probe.examine(probe.program(calls[0]), used, asked, env)
    names = login.withheld(coder, config, "\n".join(probe.files_of(asked, env).values()))
    return Called(
        name,
        program,
        setting=f"coders.{name}.{setting}",
        log_in=asked.log_in,
        withheld=names,
        lacks_gateway=bool(names) and set(names) <= set(coder.abilities.gateways),
        pass_on=login.pass_on(names, config),
    )


def _unusable(name: str, wrong: Exception, *, is_broken: bool) -> Called:
    if isinstance(wrong, FleetError):
        return Called(name, wrong=wrong.problem, mend=wrong.hint, is_broken=is_broken)
    told = f"it cannot be used: {wrong!r}"
    return Called(name, wrong=told, mend="upgrade the package it comes from", is_broken=is_broken)


def _variables(coder: Coder, options: Mapping[str, object]) -> Mapping[str, str]:
    return coder.start(probe.sample(options)).env


def _is_absent(called: Called) -> bool:
    return called.program.path is None if called.program else not called.is_broken


def _unknown(wanted: Wanted, names: Sequence[str]) -> Iterator[Finding]:
    for name, why in sorted(wanted.items()):
        if name not in names:
            yield Finding(
                f"the coder {name} is not installed, but {why} names it",
                f"choose one of {', '.join(names)}",
            )


def _absent(called: Sequence[Called]) -> Iterator[Finding]:
    if called:
        names = ", ".join(each.name for each in called)
        yield Finding(f"not installed: programs for {names}", "install one to use it", must=False)


def _finding(called: Called, wanted: Wanted) -> Finding:
    must = called.name in wanted
    if called.program is None:
        return Finding(f"coder {called.name}: {called.wrong}", called.mend, must)
    must = must and not _may_do_without(called, called.program)
    facts = {"coder": called.name, **called.program._asdict()}
    what, mend = _judged(called, called.program, wanted)
    return Finding(f"coder {called.name}: {what}", mend, must, facts)


def _may_do_without(called: Called, program: Program) -> bool:
    """Is the only finding a key that it may not need?"""
    is_fit = program.path and not program.silent and not program.missing_flags
    return bool(is_fit and called.withheld and program.logged_in is None)


def _judged(called: Called, program: Program, wanted: Wanted) -> tuple[str, str]:
    """The state of the program and what to do about it; the worst problem comes first."""
    known = f"{program.name} {program.version or ''}".strip()
    name_it = f"`fleet config set {called.setting} ...`"
    if program.path is None:
        why = wanted.get(called.name, f"`{called.setting}`")
        told = f"the program {program.name} was not found, but {why} names it"
        return told, f"install it, or name another: {name_it}"
    if program.silent:
        return program.silent, f"try it by hand, or name another: {name_it}"
    if program.missing_flags:
        told = f"{known} does not support {', '.join(program.missing_flags)}"
        return told, f"upgrade {program.path}, or name another: {name_it}"
    if called.withheld and (called.lacks_gateway or not program.logged_in):
        what = f"{known} is not logged in: " if program.logged_in is False else f"{known}: "
        return what + login.not_passed_on(called.withheld), f"pass it on: {called.pass_on}"
    if program.logged_in is False:
        return f"{known} is not logged in", called.log_in
    where = f" ({program.path})" if program.path != program.name else ""
    return f"{known}{', logged in' if program.logged_in else ''}{where}", ""
