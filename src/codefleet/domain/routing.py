"""Which coder and model do a task: rules that look at its labels, priority, complexity and repo."""

from collections.abc import Iterable

from pydantic import Field

from codefleet.domain.model import Task
from codefleet.domain.noun import Names, Noun
from codefleet.domain.words import Complexity


class Route(Noun):
    """A rule: tasks that fit everything it names go to its coder and model."""

    name: str = Field(min_length=1, description="What `fleet show` calls the rule.")
    labels: Names = Field((), description="Every one of these must be on the task.")
    repo: str | None = Field(None, description="Only tasks of this repo.")
    least_priority: int = Field(1, ge=1, le=5, description="Only tasks at least this urgent.")
    most_priority: int = Field(5, ge=1, le=5, description="Only tasks at most this urgent.")
    complexity: tuple[Complexity, ...] = Field((), description="Only tasks this hard.")
    coder: str | None = Field(None, description="The agent program for them.")
    model: str | None = Field(None, description="The model for them.")

    def fits(self, task: Task) -> bool:
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


def choose(task: Task, routes: Iterable[Route]) -> Route | None:
    """The first rule that fits."""
    return next((route for route in routes if route.fits(task)), None)
