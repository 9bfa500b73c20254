"""What all nouns have in common: frozen, strict, the same in Python, JSON and a row."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, PlainSerializer

_set = object.__setattr__  # nouns are frozen, except while they are made


@lru_cache(maxsize=256)  # a moment is written many times: in a task, its run and their events
def instant(moment: datetime) -> str:
    """Fixed width and one zone, so that the order of the texts is the order of the moments."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _sorted(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


Instant = Annotated[AwareDatetime, PlainSerializer(instant, return_type=str, when_used="json")]
Names = Annotated[tuple[str, ...], AfterValidator(_sorted)]


class Noun(BaseModel):
    """Frozen and strict about its fields, so that a typing error is an error and not a silence."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)

    def evolve(self, **changes: Any) -> Self:
        """The same noun with these fields changed. The caller vouches for the values."""
        # As `model_copy` does, at a third of its cost: a task changes at every step of its way.
        other = self.__class__.__new__(self.__class__)
        _set(other, "__dict__", {**self.__dict__, **changes})
        _set(other, "__pydantic_fields_set__", self.__pydantic_fields_set__ | changes.keys())
        _set(other, "__pydantic_extra__", None)
        _set(other, "__pydantic_private__", self.__pydantic_private__)
        return other
