"""Which answer a request gets: the paths of all routes as one tree, looked up part by part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from starlette.types import ASGIApp

ANY_METHOD = "*"


class Found(NamedTuple):
    """What answers to a path, by method; the arguments in the path are given in order."""

    answers: Mapping[str, "Named"]
    values: Sequence[str]


class Named(NamedTuple):
    """An application, and what the arguments in its path are called."""

    app: ASGIApp
    names: Sequence[str]


class Node:
    """A part of a path, and the parts that may follow it."""

    def __init__(self) -> None:
        self.answers: dict[str, Named] = {}
        self.parts: dict[str, Node] = {}
        self.argument: Node | None = None
        self.rest: dict[str, Named] = {}
        """What answers if the last argument is all that follows, slashes included."""

    def found(self, path: Sequence[str], values: Sequence[str] = ()) -> Iterator[Found]:
        """All that match: a part that is written in a route comes before an argument."""
        if not path:
            if self.answers:
                yield Found(self.answers, values)
            return
        first, rest = path[0], path[1:]
        if first in self.parts:
            yield from self.parts[first].found(rest, values)
        if self.argument and first:
            yield from self.argument.found(rest, (*values, first))
        if self.rest:
            yield Found(self.rest, (*values, "/".join(path)))


class Routes:
    """All routes of a server."""

    def __init__(self) -> None:
        self._root = Node()

    def add(self, method: str, path: str, app: ASGIApp) -> None:
        """Answer to this method and path. `{name}` is an argument; `{name:path}`, at the end, is
        one that may have slashes."""
        node, names = self._root, []
        for part in path.split("/")[1:]:
            if not part.startswith("{"):
                node = node.parts.setdefault(part, Node())
                continue
            name, _, kind = part.strip("{}").partition(":")
            names.append(name)
            if kind == "path":
                node.rest[method] = Named(app, names)
                return
            node.argument = node.argument or Node()
            node = node.argument
        node.answers[method] = Named(app, names)

    def find(self, method: str, path: str) -> tuple[ASGIApp | None, Mapping[str, str], bool]:
        """What answers to a request, if anything, with the arguments in its path; and does the
        path exist, if only for other methods?"""
        method, is_known = "GET" if method == "HEAD" else method, False
        for answers, values in self._root.found(path.split("/")[1:]):
            is_known = True
            if found := answers.get(method) or answers.get(ANY_METHOD):
                return found.app, dict(zip(found.names, values, strict=True)), True
        return None, {}, is_known
