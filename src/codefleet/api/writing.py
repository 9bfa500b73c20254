"""How a fleet at a distance writes down what it asks."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from codefleet.domain.model import Draft
from codefleet.ports import TaskQuery

PAGE = 500


def asked(query: TaskQuery) -> dict[str, Any]:
    """The parameters of a list of tasks."""
    ids = {"ids": query.ids} if query.ids is not None else {}
    parents = {"parents": query.parents} if query.parents is not None else {}
    return {
        **ids,
        **parents,
        "state": query.states,
        "repo": query.repo,
        "label": query.label,
        "team": query.team,
        "handle": query.handle,
        "workers": query.workers,
        "swarm": query.swarm,
        "text": query.text,
        "ready": query.ready,
        "newest_first": query.newest_first,
    }


def said(draft: Draft) -> dict[str, Any]:
    """What a draft says, without what it leaves open."""
    said = draft.plain()
    said.pop("stage", None)
    return {name: value for name, value in said.items() if value is not None}


def span(long: timedelta) -> str:
    """A duration as people type it."""
    return f"{long.total_seconds():.0f}s"


def pages(ids: Sequence[str]) -> list[Sequence[str]]:
    """Names in portions that fit into an address."""
    return [ids[start : start + PAGE] for start in range(0, len(ids), PAGE)]
