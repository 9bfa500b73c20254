"""Checking the signals of a coder, which may be third-party code: what counts can be stored."""

from enum import Enum
from typing import Any, get_args

import msgspec

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Usage
from codefleet.domain.noun import LARGEST
from codefleet.domain.signals import Signal

KINDS = get_args(Signal)


def validated(signal: Signal, coder: str) -> Signal:
    """The signal, if every field has its type and can be stored."""
    problem = "it is no signal"
    try:
        if isinstance(signal, KINDS):
            valid: Signal = msgspec.convert(tuple(signal), type(signal))
            _refuse_unstorable(valid)
            return valid
    except ValueError as wrong:
        problem = str(wrong).partition("'")[0]  # what is quoted there is a value
    raise WorkspaceTrouble(  # without its values, which may hold a key
        f"the coder {coder} produced an invalid signal: {type(signal).__name__}: {problem[:200]}",
        hint="test the coder with codefleet.testing.conformance",
    )


def _refuse_unstorable(value: Any) -> None:
    """Refuse what types alone allow: lone surrogates, and numbers that cannot be added up."""
    match value:
        case str() if type(value) is not str and not isinstance(value, Enum):
            raise ValueError("a text of a type of its own")
        case str() if not value.isascii():
            _refuse_surrogates(value)
        case int() | float() if not abs(value) <= LARGEST:
            raise ValueError("a number that is too large")
        case tuple():
            for each in value:
                _refuse_unstorable(each)
        case Usage():
            plain = msgspec.convert(msgspec.structs.asdict(value), Usage)
            _refuse_unstorable(msgspec.structs.astuple(plain))


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:  # its message would repeat the text
        raise ValueError("a text that is not Unicode") from None
