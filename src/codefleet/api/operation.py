"""One verb at its address: what it takes and what it returns follow from its signature."""

import collections.abc
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from http import HTTPStatus
from typing import Any, Literal, get_args, get_origin, get_type_hints

from codefleet.domain.model import Task
from codefleet.domain.noun import Frozen, Noun
from codefleet.domain.validation import checked

JSON, TEXT, LINES = "application/json", "text/plain; charset=utf-8", "application/jsonl"
LISTS = (list, tuple, collections.abc.Sequence)


class Operation:
    """A method and a path, and the verb that they mean.

    The verb is a method of `Fleet`, or a function whose first argument is a fleet. Its other
    arguments come from the path, then from the query of a GET or from the JSON object in the body.
    If `body` names one of them, that one is the whole body instead.
    """

    def __init__(
        self,
        method: str,
        path: str,
        verb: Callable[..., Any],
        *,
        name: str = "",
        body: str = "",
        status: int = 200,
        media: str = JSON,
        takes: Mapping[str, Any] | None = None,
        again: Callable[..., Any] | None = None,
        camel: bool = False,
    ) -> None:
        """`takes` describes arguments that the verb reads itself; `again` finds what the verb made
        when the same request comes once more. `camel` is for requests that say `teamName` for
        `team_name`."""
        self.method, self.path, self.verb = method, path, verb
        self.name = name or verb.__name__
        self.body, self.status, self.media = body, status, media
        self._takes, self.again, self._camel = takes or {}, again, camel

    @property
    def creates(self) -> bool:
        """Can it be repeated with a key, so that what it makes is not made twice?"""
        return self.again is not None

    @property
    def refuses_keys(self) -> bool:
        """Does it make something new at every request, so that a key would promise too much?"""
        return self.again is None and self.status == HTTPStatus.CREATED

    @cached_property
    def changes_a_task(self) -> bool:
        """Does it change the task that its path names, and answer with it?"""
        return self.method != "GET" and bool(self.in_path) and self.answer is Task

    @cached_property
    def is_stream(self) -> bool:
        """Does the verb yield its answer line by line?"""
        return inspect.isasyncgenfunction(self.verb)

    @property
    def summary(self) -> str:
        """The first sentence of what the verb's author says about it."""
        return " ".join((self.verb.__doc__ or "").strip().partition("\n\n")[0].split())

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type of each argument, as it is described to callers."""
        return {**self._hints, **self._takes}

    @cached_property
    def answer(self) -> Any:
        """The type of what it returns, or of each line of it."""
        told = get_type_hints(self.verb, include_extras=True)["return"]
        return get_args(told)[0] if self.is_stream else told

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """The arguments that are parts of the path."""
        parts = self.path.split("/")
        return tuple(part.strip("{}") for part in parts if part.startswith("{"))

    @cached_property
    def inputs(self) -> type[Noun]:
        """What a request states besides its path, as it is described to callers."""
        kept = {name: kind for name, kind in self.types.items() if name not in self.in_path}
        return self._noun(kept)

    @cached_property
    def _read_as(self) -> type[Noun]:
        """All arguments as one noun, so that a wrong one is reported as everywhere."""
        return self._noun(self._hints)

    @cached_property
    def lists(self) -> frozenset[str]:
        """The arguments that may be repeated in a query."""
        return frozenset(name for name, kind in self.types.items() if _is_list(kind))

    def read(self, said: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
        """The arguments of a call. What was not given is left to the verb's own defaults.

        A query has only texts: it is not read strictly.
        """
        found = checked(self._read_as, said, strict=strict)
        names = zip(found.__struct_fields__, found.__struct_encode_fields__, strict=True)
        return {name: getattr(found, name) for name, written in names if written in said}

    @cached_property
    def _hints(self) -> dict[str, Any]:
        hints = get_type_hints(self.verb, include_extras=True)
        _fleet, *others = inspect.signature(self.verb).parameters.values()
        return {
            each.name: hints[each.name]
            for each in others
            if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
        }

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        given = inspect.signature(self.verb).parameters
        return {
            name: given[name].default
            for name in self.types
            if name in given and given[name].default is not inspect.Parameter.empty
        }

    def _noun(self, kept: Mapping[str, Any]) -> type[Noun]:
        defaults = {name: value for name, value in self._defaults.items() if name in kept}
        inside = {"__annotations__": dict(kept), "__module__": __name__, **defaults}
        title = "".join(word.capitalize() for word in self.name.split("_"))
        rename: Literal["camel"] | None = "camel" if self._camel else None
        made: type[Noun] = Frozen(f"{title}Request", (Noun,), inside, rename=rename)
        return made


def _is_list(kind: Any) -> bool:
    """Is this, or one of the choices of this union, a list?"""
    if get_origin(kind) in LISTS:
        return True
    return any(_is_list(each) for each in get_args(kind))
