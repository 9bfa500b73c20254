"""Scripts: what the model says and does, step by step.

| key       | value                             | the model                                        |
|-----------|-----------------------------------|--------------------------------------------------|
| `text`    | words                             | says this                                        |
| `think`   | words                             | thinks this first, where the API can show it     |
| `write`   | [path, content]                   | makes a file  } with whatever tool               |
| `edit`    | [path, old, new]                  | changes one   } the program offers               |
| `sh`      | command                           | runs it       } for that                         |
| `tool`    | name, with `input`                | calls just this tool                             |
| `calls`   | list of the four above            | calls several tools in one answer                |
| `usage`   | {input, output, cached}           | counts so many tokens (100, 20 and 0)            |
| `stop`    | "max_tokens", "refusal"           | ends its answer for this reason                  |
| `error`   | status, or {status, message, ...} | is refused by its API; see Refusal               |
| `limit`   | seconds                           | is used up for so long, as a subscription is     |
| `headers` | {name: value}                     | sends these along                                |
| `delay`   | seconds                           | takes so long to begin                           |
| `drip`    | seconds                           | takes so long between the pieces of its answer   |
| `hang`    | true, or "silent"                 | never gets on; keeps the line alive, or does not |
| `cut`     | true                              | loses the connection in the middle               |
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

IN_PROMPT = re.compile(r"<<SCRIPT\s*(.*?)\s*SCRIPT>>", re.DOTALL)
ACTIONS = ("write", "edit", "sh", "tool")


class BadScript(Exception):
    """The script cannot be played; the program is told so, for the test to see."""


class Message(NamedTuple):
    """One message of a conversation: who, and its texts without the results of tools."""

    by_model: bool
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """An answer that is an HTTP error; after `times` of them the rest of the step is played."""

    status: int
    message: str = ""
    type: str | None = None
    headers: Mapping[str, str] | None = None
    body: Any = None
    times: int | None = None


@dataclass(frozen=True)
class Step:
    """One answer of the model."""

    text: str = ""
    think: str = ""
    actions: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, int] | None = None
    stop: str | None = None
    error: Refusal | None = None
    limit: float | None = None
    headers: Mapping[str, str] | None = None
    delay: float = 0
    drip: float = 0
    hang: bool | str = False
    cut: bool = False


KEYS = {field.name for field in fields(Step)} - {"actions"} | {*ACTIONS, "input", "calls"}
AFTER_THE_LAST = Step(text="All done.")


class Place(NamedTuple):
    """Where a conversation stands: a script, and the number of its next step."""

    script: str
    number: int

    def step(self) -> Step:
        """The step to play; a script that has come to its end has nothing more to do."""
        steps = _parsed(self.script)
        return _step(steps[self.number]) if self.number < len(steps) else AFTER_THE_LAST


def prompt(*steps: Mapping[str, Any]) -> str:
    """A script as it stands in a prompt."""
    return f"<<SCRIPT {json.dumps(steps)} SCRIPT>>"


def find(conversation: Sequence[Message], named: str | None) -> Place:
    """The place in the newest prompt with a script, else in the one that the address names.

    Of several scripts in a prompt, the next one is played each time that a prompt comes: the same
    one again, or one without a script, as a session gets that goes on.
    """
    for at in reversed(range(len(conversation))):
        for text in reversed(conversation[at].texts):
            scripts = [] if conversation[at].by_model else IN_PROMPT.findall(text)
            if scripts:
                times = _times(scripts[0], conversation)
                return _place(scripts, times, conversation[at + 1 :])
    return Place(named or "[]", _answers(conversation))


def _place(scripts: Sequence[str], times: int, after: Sequence[Message]) -> Place:
    """The place in these scripts, which came `times` times, by what came after them."""
    plain = [at for at, message in enumerate(after) if _is_prompt(message)]
    later = plain[: max(0, len(scripts) - times)]
    rest = after[later[-1] + 1 :] if later else after
    return Place(scripts[min(times + len(later), len(scripts)) - 1], _answers(rest))


def _is_prompt(message: Message) -> bool:
    """Is this what somebody said, and not a remark of the program, which it puts in brackets?"""
    words = [text.lstrip() for text in message.texts if text.strip()]
    said = [text for text in words if not text.startswith(("<", "["))]
    return bool(said) and not message.by_model


def _times(script: str, conversation: Sequence[Message]) -> int:
    """How often the prompt that begins with this script has come."""
    texts = [text for message in conversation if not message.by_model for text in message.texts]
    return sum(IN_PROMPT.findall(text).count(script) for text in texts)


def _answers(conversation: Sequence[Message]) -> int:
    """Answers of the model; some programs store one answer as several messages in a row."""
    by_model = [message.by_model for message in conversation]
    return sum(
        now and not before for before, now in zip([False, *by_model], by_model, strict=False)
    )


def _parsed(script: str) -> list[Any]:
    try:
        steps = json.loads(script)
    except ValueError as wrong:
        raise BadScript(f"the script is not JSON: {wrong}") from None
    if not isinstance(steps, list):
        raise BadScript("the script is not a list of steps")
    return steps


def _step(given: Any) -> Step:
    if not isinstance(given, dict) or not given.keys() <= KEYS:
        strange = sorted(given.keys() - KEYS) if isinstance(given, dict) else given
        raise BadScript(f"a step cannot have {strange}; it has {', '.join(sorted(KEYS))}")
    own = [given] if any(action in given for action in ACTIONS) else []
    rest = {key: given[key] for key in given.keys() - {*ACTIONS, "input", "calls", "error"}}
    return Step(**rest, actions=(*own, *given.get("calls", ())), error=_refusal(given.get("error")))


def _refusal(given: Any) -> Refusal | None:
    try:
        return given and Refusal(**(given if isinstance(given, dict) else {"status": given}))
    except TypeError as wrong:
        raise BadScript(f"an error has status, message, type, headers, body: {wrong}") from None
