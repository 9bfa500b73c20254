"""Q&A.md: questions and answers, as Markdown that agents and the fleet both read and write.

    ## Question

    Which port should it listen on?

    - 8080
    - 9090

    ## Answer

    8080

An agent asks by appending a question. The list at its end, if any, holds the options.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from codefleet.domain.model import Question

HEADING = re.compile(r" {0,4}#{2,3} +(question|answer)\b *\d{0,3} *[:.]?(.*)", re.IGNORECASE)
OPTION = re.compile(r" {0,8}(?:[-*+]|\d{1,2}[.)]) +(.+)")
LONGEST_TEXT = 4000
LONGEST_OPTION = 500
MOST_OPTIONS = 20
EMPTY = "# Questions and answers\n"


class Asked(NamedTuple):
    """One question in the file."""

    text: str
    options: tuple[str, ...] = ()
    answer: str = ""


def written(questions: Sequence[Question]) -> str:
    """The file with every question so far and its answer."""
    return EMPTY + "".join(_written(question) for question in questions)


def parsed(text: str) -> list[Asked]:
    """Every question in the file, in order."""
    found: list[Asked] = []
    for kind, body in _sections(text):
        if kind == "question":
            found.append(_question(body))
        elif found:
            found[-1] = found[-1]._replace(answer=f"{found[-1].answer}\n{body}".strip())
    return [asked for asked in found if asked.text or asked.options]


def news(text: str, known: Sequence[Question]) -> list[Asked]:
    """The unanswered questions that were not asked before."""
    before = Counter(asked.text for asked in parsed(written(known)))
    fresh = []
    for asked in parsed(text):
        if before[asked.text]:
            before[asked.text] -= 1
        elif not asked.answer:
            fresh.append(asked)
    return fresh


def _written(question: Question) -> str:
    options = "".join(f"- {option}\n" for option in question.options)
    parts = [
        *("## Question", _escaped(question.text)),
        *([options.rstrip()] if options else []),
        *("## Answer", _escaped(question.answer or "(no answer)")),
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    """Escape lines that would begin a section."""
    return "\n".join(f"\\{line}" if HEADING.match(line) else line for line in _lines(text))


def _sections(text: str) -> Iterator[tuple[str, str]]:
    kind, body = "", [""]
    for line in _lines(text):
        if heading := HEADING.match(line):
            yield kind, "\n".join(body).strip()
            kind, body = heading[1].lower(), [heading[2].strip()]
        else:
            body.append(line)
    yield kind, "\n".join(body).strip()


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _question(body: str) -> Asked:
    """A question and the list at its end."""
    lines = body.split("\n")
    options: list[str] = []
    while lines and (found := OPTION.fullmatch(lines[-1].rstrip()) or not lines[-1].strip()):
        if isinstance(found, re.Match):
            options.insert(0, found[1].strip()[:LONGEST_OPTION])
        lines.pop()
    text = "\n".join(lines).strip()[:LONGEST_TEXT]
    return Asked(text or "\n".join(options), tuple(options[:MOST_OPTIONS]))
