"""What a human can do about a program that is not logged in; often its key is not passed on."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence

from codefleet.coder import Coder, Probed
from codefleet.config import Config
from codefleet.domain.secrets import is_secret_name
from codefleet.runner.process.custody import environment

VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


def missing_variables(coder: Coder, config: Config, words: str = "") -> list[str]:
    """The variables that are set here and that the program needs, but that agents do not get.

    That is a key that would log it in, or is named in `words` (an error message, or the program's
    settings), and with a key also the address that it is for.
    """
    env = config.coders.get(coder.name, {}).get("env")
    passed = environment(config.environment, env if isinstance(env, Mapping) else {})
    has_key = any(passed.get(key) for key in coder.abilities.keys)
    named = [name for name in VARIABLE.findall(words) if is_secret_name(name)]
    keys = _missing([*(() if has_key else coder.abilities.keys), *named], passed)
    return [*keys, *_missing(coder.abilities.gateways, passed)] if has_key or keys else []


def _missing(names: Sequence[str], passed: Mapping[str, str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if os.environ.get(name) and not passed.get(name)]


def not_passed_on(names: Sequence[str]) -> str:
    """The problem with keys that are not passed to agents."""
    are = "is" if len(names) == 1 else "are"
    return (
        f"{', '.join(names)} {are} set, but agents see only the variables that `environment` names"
    )


def pass_on(names: Sequence[str], config: Config) -> str:
    """The command that lets agents see these variables too."""
    value = ",".join((*config.environment, *names))
    return f"`fleet config set environment {shlex.quote(value)}`"


def remedy(coder: Coder, config: Config, words: str) -> str:
    """What to do about a program that reports in `words` that it is not logged in."""
    if names := missing_variables(coder, config, words):
        return f"{not_passed_on(names)}: {pass_on(names, config)}"
    log_in = coder.probe.log_in if isinstance(coder, Probed) else ""
    return f"log in ({log_in})" if log_in else "log in"
