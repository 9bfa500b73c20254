"""Every coder's program, probed at once: which are installed, and do the needed ones work?"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from codefleet.coder import Coder, Probe, Probed
from codefleet.coders import registry
from codefleet.config import Config
from codefleet.domain.errors import BadConfig, FleetError
from codefleet.domain.model import Task
from codefleet.runner.doctor.findings import Finding
from codefleet.runner.process.custody import environment
from codefleet.runner.programs import login, probe
from codefleet.runner.programs.probe import Program

NO_PROBE = Probe(version=(), help=())

Wanted = Mapping[str, str]
"""Names of the coders that are needed, each with what needs it."""


class CheckedCoder(NamedTuple):
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
    missing_variables: Sequence[str] = ()
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


async def check_coders(config: Config, wanted: Wanted) -> list[Finding]:
    """The findings about every coder that is installed or wanted."""
    names = registry.names()
    checked = await asyncio.gather(*(_check(name, config) for name in names))
    named = {*wanted, *config.coders}
    absent = [each for each in checked if _is_absent(each) and each.name not in named]
    return [
        *_unknown(wanted, names),
        *(_finding(each, wanted) for each in checked if each not in absent),
        *_absent(absent),
    ]


async def _check(name: str, config: Config) -> CheckedCoder:
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
    names = login.missing_variables(coder, config, "\n".join(probe.files_of(asked, env).values()))
    return CheckedCoder(
        name,
        program,
        setting=f"coders.{name}.{setting}",
        log_in=asked.log_in,
        missing_variables=names,
        lacks_gateway=bool(names) and set(names) <= set(coder.abilities.gateways),
        pass_on=login.pass_on(names, config),
    )


def _unusable(name: str, wrong: Exception, *, is_broken: bool) -> CheckedCoder:
    if isinstance(wrong, FleetError):
        return CheckedCoder(name, wrong=wrong.problem, mend=wrong.hint, is_broken=is_broken)
    told = f"it cannot be used: {wrong!r}"
    return CheckedCoder(
        name, wrong=told, mend="upgrade the package it comes from", is_broken=is_broken
    )


def _variables(coder: Coder, options: Mapping[str, object]) -> Mapping[str, str]:
    return coder.start(probe.sample(options)).env


def _is_absent(checked: CheckedCoder) -> bool:
    return checked.program.path is None if checked.program else not checked.is_broken


def _unknown(wanted: Wanted, names: Sequence[str]) -> Iterator[Finding]:
    for name, why in sorted(wanted.items()):
        if name not in names:
            yield Finding(
                f"the coder {name} is not installed, but {why} names it",
                f"choose one of {', '.join(names)}",
            )


def _absent(checked: Sequence[CheckedCoder]) -> Iterator[Finding]:
    if checked:
        names = ", ".join(each.name for each in checked)
        yield Finding(f"not installed: programs for {names}", "install one to use it", must=False)


def _finding(checked: CheckedCoder, wanted: Wanted) -> Finding:
    must = checked.name in wanted
    if checked.program is None:
        return Finding(f"coder {checked.name}: {checked.wrong}", checked.mend, must)
    must = must and not _may_do_without(checked, checked.program)
    facts = {"coder": checked.name, **checked.program._asdict()}
    what, mend = _judged(checked, checked.program, wanted)
    return Finding(f"coder {checked.name}: {what}", mend, must, facts)


def _may_do_without(checked: CheckedCoder, program: Program) -> bool:
    """Is the only finding a key that it may not need?"""
    is_fit = program.path and not program.silent and not program.missing_flags
    return bool(is_fit and checked.missing_variables and program.logged_in is None)


def _judged(checked: CheckedCoder, program: Program, wanted: Wanted) -> tuple[str, str]:
    """The state of the program and what to do about it; the worst problem comes first."""
    known = f"{program.name} {program.version or ''}".strip()
    name_it = f"`fleet config set {checked.setting} ...`"
    if program.path is None:
        why = wanted.get(checked.name, f"`{checked.setting}`")
        told = f"the program {program.name} was not found, but {why} names it"
        return told, f"install it, or name another: {name_it}"
    if program.silent:
        return program.silent, f"try it by hand, or name another: {name_it}"
    if program.missing_flags:
        told = f"{known} does not support {', '.join(program.missing_flags)}"
        return told, f"upgrade {program.path}, or name another: {name_it}"
    if checked.missing_variables and (checked.lacks_gateway or not program.logged_in):
        what = f"{known} is not logged in: " if program.logged_in is False else f"{known}: "
        what += login.not_passed_on(checked.missing_variables)
        return what, f"pass it on: {checked.pass_on}"
    if program.logged_in is False:
        return f"{known} is not logged in", checked.log_in
    where = f" ({program.path})" if program.path != program.name else ""
    return f"{known}{', logged in' if program.logged_in else ''}{where}", ""
