"""Which coder and model get a task: rules on its labels, priority, complexity and repo."""

from collections.abc import Iterable

from codefleet.domain.model import Brief, Priority, Task
from codefleet.domain.noun import Noun, Text
from codefleet.domain.words import Complexity


class Route(Noun):
    """A rule: tasks that match everything it names go to its coder and model."""

    name: Text
    """The name of the rule, as `fleet show` prints it."""

    labels: tuple[str, ...] = ()
    """Only tasks with all of these labels."""

    repo: str | None = None
    """Only tasks of this repo."""

    least_priority: Priority = 1
    """Only tasks at least this urgent."""

    most_priority: Priority = 5
    """Only tasks at most this urgent."""

    complexity: tuple[Complexity, ...] = ()
    """Only tasks of these complexities."""

    coder: str | None = None
    """The coder for them."""

    model: str | None = None
    """The model for them."""

    def fits(self, task: Brief) -> bool:
        return (
            set(self.labels) <= set(task.labels)
            and self.repo in (None, task.repo)
            and self.least_priority <= task.priority <= self.most_priority
            and (not self.complexity or task.complexity in self.complexity)
        )


def coder_for(task: Task, routes: Iterable[Route], default: str) -> str:
    """The coder that a task names, that a rule chooses for it, or the default."""
    route = choose(task, routes)
    return task.coder or (route and route.coder) or default


def choose(task: Brief, routes: Iterable[Route]) -> Route | None:
    """The first rule that matches."""
    return next((route for route in routes if route.fits(task)), None)
