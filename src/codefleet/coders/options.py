"""What the configuration may set for an agent program, checked before it is started.

    [coders.claude]
    program = "/opt/claude/bin/claude"   # default: the program's usual name
    args = ["--effort=high"]             # added to every call
    env = { HTTPS_PROXY = "..." }        # added to its environment
    account = "~/.claude-work"           # the folder with its login, if it has one
    model = "opus"                       # for tasks and routes that name none

Every real program has these five; some have one or two more, such as `effort`. A task's own options
are merged over these.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from codefleet.coder import Assignment
from codefleet.domain.errors import BadConfig
from codefleet.domain.suggestion import did_you_mean

PROVIDER_KEYS = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    *("OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY"),
)
"""The keys of well-known providers, for programs that can use any of them."""

SHARED = ("program", "args", "env", "account", "model")
OF_THE_FLEET = ("most_agents",)
"""What stands in a coder's table, but is not for the coder."""


class Options:
    """The options of one coder; each is checked when it is read."""

    def __init__(self, coder: str, given: Mapping[str, object], *own: str) -> None:
        self._coder, self._given = coder, given
        known = (*SHARED, *own)
        if unknown := sorted(set(given) - set(known)):
            raise BadConfig(
                f"the coder {coder} has no option {unknown[0]}",
                hint=did_you_mean(unknown[0], known, f"it has: {', '.join(known)}"),
            )

    def text(self, name: str, default: str) -> str:
        value = self._given.get(name, default)
        if not _is_text(value) or not value:
            raise self._wrong(name, "a string")
        return str(value)

    def maybe(self, name: str) -> str | None:
        """A string, or None if it is not set."""
        return self.text(name, "") if name in self._given else None

    def texts(self, name: str, default: Sequence[str] = ()) -> list[str]:
        value = self._given.get(name, default)
        if not isinstance(value, list | tuple) or not all(map(_is_text, value)):
            raise self._wrong(name, "a list of strings")
        return list(value)

    def choice(self, name: str, *choices: str) -> str:
        """One of these; the first if it is not set."""
        value = self._given.get(name, choices[0])
        if value not in choices:
            raise self._wrong(name, f"one of {', '.join(choices)}")
        return str(value)

    def env(self, account: str | None = None, **always: str) -> dict[str, str]:
        """The program's variables: `always`, the one for the account, and what the user adds."""
        value = self._given.get("env", {})
        if not isinstance(value, Mapping) or not all(map(_is_text, [*value, *value.values()])):
            raise self._wrong("env", "a table of strings")
        return {**always, **self._account(account), **value}

    def _account(self, variable: str | None) -> dict[str, str]:
        if "account" not in self._given:
            return {}
        folder = self.text("account", "")
        if variable is None:
            raise BadConfig(
                f"the coder {self._coder} does not support accounts",
                hint=f"remove coders.{self._coder}.account, or set variables in its env",
            )
        return {variable: str(Path(folder).expanduser())}

    def _wrong(self, name: str, wanted: str) -> BadConfig:
        return BadConfig(
            f"coders.{self._coder}.{name} is not {wanted}",
            hint=f"`fleet config set coders.{self._coder}.{name} VALUE` changes it",
        )


def handed_on(table: Mapping[str, object]) -> dict[str, object]:
    """The options in a coder's table that the coder itself gets."""
    return {name: value for name, value in table.items() if name not in OF_THE_FLEET}


def laid_over(usual: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """A task's options merged over those of its coder; arguments and variables are combined."""
    both: dict[str, object] = {**handed_on(usual), **own}
    for name in ("args", "env"):
        match usual.get(name), own.get(name):
            case list() as first, list() as more:
                both[name] = [*first, *more]
            case Mapping() as known, Mapping() as added:
                both[name] = {**known, **added}
    return both


def flag(name: str, value: str | None) -> list[str]:
    """`--name=value`, so that no value is mistaken for a flag; empty without a value."""
    return [f"--{name}={value}"] if value else []


def pointer(assignment: Assignment) -> str:
    """The prompt for a program that takes it only as an argument, which everyone can see."""
    return f"Read the file {assignment.prompt_file} and do what it says."


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value
