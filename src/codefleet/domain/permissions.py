"""Which agent may use which tool: the rules, and what humans answered before.

A rule names tools and what they are used on, both as globs. Deny wins, then ask, then allow, and
anything that no rule matches is asked: so the order of rules does not matter, and another rule to
deny or ask never grants more. A command line counts as the commands it consists of: each has to be
allowed, and a single denied one is enough.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from codefleet.domain.model import Question
from codefleet.domain.noun import Noun, Text


class Ruling(StrEnum):
    """What happens when an agent wants to use a tool."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class Rule(Noun):
    """One rule of the policy; an omitted field matches everything."""

    tool: Text = "*"
    match: Text = "*"
    then: Ruling

    @property
    def text(self) -> str:
        return f"{self.then} {self.tool} {self.match}"

    def fits(self, tool: str, detail: str) -> bool:
        return is_meant(tool, [self.tool]) and fnmatchcase(detail, self.match)


class Decision(NamedTuple):
    """A ruling, and the rule or human answer behind it."""

    ruling: Ruling
    why: str = ""


class Answer(StrEnum):
    """What a human can answer to a permission request."""

    ALLOW = "allow"
    ALWAYS = "always"
    DENY = "deny"


ANSWERS = tuple(Answer)
SYNONYMS = {"yes": Answer.ALLOW, "y": Answer.ALLOW, "no": Answer.DENY, "n": Answer.DENY}
NOBODY_ANSWERED = "deny: nobody answered in time"

BETWEEN_COMMANDS = re.compile(r"&&|\|\||[;&|\n`]|\$\(")
HARMLESS = re.compile(r"\d?>\s*(?:&\d|/dev/null)(?=[\s;&|)]|$)")
HIDES_A_COMMAND = re.compile(r"`|\$\(|[<>]")


def is_meant(tool: str, globs: Iterable[str]) -> bool:
    """Does one of these name this tool? `bash` means `Bash`, so that forbidding it works."""
    return any(fnmatchcase(tool.casefold(), glob.casefold()) for glob in globs)


def decide(rules: Sequence[Rule], asked: Iterable[Question], tool: str, detail: str) -> Decision:
    """May this tool be used on this? The rules decide or, if they ask, earlier answers do."""
    ruled = judge(rules, tool, detail)
    if ruled.ruling is not Ruling.ASK:
        return ruled
    return remembered(asked, tool, detail) or ruled


def judge(rules: Sequence[Rule], tool: str, detail: str) -> Decision:
    """What the rules alone decide."""
    parts = list(_commands(detail))
    for ruling in (Ruling.DENY, Ruling.ASK):
        for rule in rules:
            if rule.then is ruling and any(rule.fits(tool, part) for part in (detail, *parts)):
                return Decision(ruling, rule.text)
    allowing = [rule for rule in rules if rule.then is Ruling.ALLOW]
    fitting = [_first(allowing, tool, part) for part in parts]
    whole = next((rule for rule in allowing if rule.match == "*" and rule.fits(tool, "")), None)
    if whole:
        return Decision(Ruling.ALLOW, whole.text)
    if fitting and all(fitting) and not HIDES_A_COMMAND.search(HARMLESS.sub("", detail)):
        return Decision(Ruling.ALLOW, ", ".join(dict.fromkeys(r.text for r in fitting if r)))
    return Decision(Ruling.ASK)


def remembered(asked: Iterable[Question], tool: str, detail: str) -> Decision | None:
    """The last answer of a human to the same request, or an `always` for the same tool."""
    found: Decision | None = None
    for question in asked:
        answer = answer_in(question.answer or "")
        if question.tool != tool or not answer:
            continue
        if question.detail == detail or answer is Answer.ALWAYS:
            ruling = Ruling.DENY if answer is Answer.DENY else Ruling.ALLOW
            found = Decision(ruling, question.answer or "")
    return found


def answer_in(text: str) -> Answer | None:
    """The answer that a human's reply begins with; None if it is no answer."""
    first = next(iter(re.findall(r"\w+", text.lower())), "")
    return SYNONYMS.get(first) or (Answer(first) if first in ANSWERS else None)


def _commands(detail: str) -> Iterator[str]:
    """The commands of a command line; anything else counts as one."""
    for part in BETWEEN_COMMANDS.split(HARMLESS.sub("", detail)):
        if command := part.strip(" \t\r({"):
            yield command


def _first(rules: Sequence[Rule], tool: str, part: str) -> Rule | None:
    return next((rule for rule in rules if rule.fits(tool, part)), None)
