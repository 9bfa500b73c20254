"""Where a repo is: on this machine, only on others, or gone; and whether it can be used here."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from codefleet.config import Config, kept, trouble_of
from codefleet.config.repo_file import kept_at
from codefleet.domain.errors import Refused
from codefleet.domain.model import Repo


class Machine(Protocol):
    """What a `Fleet` and its core know about this machine."""

    @property
    def home(self) -> Path: ...
    @property
    def host(self) -> str: ...
    @property
    def config(self) -> Config: ...


def here(machine: Machine, repo: Repo) -> Repo:
    """The repo as it is on this machine: its user's clone or, if shared, a mirror."""
    if machine.host in repo.paths:
        return repo.evolve(path=repo.paths[machine.host])
    return repo.evolve(path=str(mirror(machine.home, repo.name))) if repo.shared else repo


def mirror(home: Path, repo: str) -> Path:
    """Where this machine keeps a shared repo of which its user has no clone."""
    return home / "mirrors" / f"{repo}.git"


def has_many_machines(machine: Machine) -> bool:
    """May other machines use the same store? A file belongs to this machine alone."""
    return machine.config.store.startswith("postgres")


def is_elsewhere(machine: Machine, repo: Repo) -> bool:
    """Do only other machines work on it?"""
    is_theirs = bool(repo.paths) and machine.host not in repo.paths
    return has_many_machines(machine) and not repo.shared and is_theirs


def refuse_elsewhere(machine: Machine, repo: Repo) -> None:
    """Refuse to add a repo here that only other machines work on: there would be two."""
    if is_elsewhere(machine, repo):
        raise Refused(
            f"{repo.name} is used only by {', '.join(sorted(repo.paths))}",
            hint="run `fleet init --share` there first; then work travels through the remote",
        )


def refuse_foreign(machine: Machine, path: str) -> None:
    """Refuse a repository outside the folders that the settings allow."""
    allowed = [Path(each).expanduser().resolve() for each in machine.config.allowed_repos]
    if allowed and not any(Path(path).resolve().is_relative_to(each) for each in allowed):
        raise Refused(
            f"the fleet may not work on {path[:200]}",
            hint=f"allowed_repos has: {', '.join(machine.config.allowed_repos)}",
        )


def gone(machine: Machine, repos: Iterable[Repo]) -> Mapping[str, str]:
    """Repos that only this machine works on and that are missing now, each with a sentence."""
    return {
        repo.name: f"{repo.name} is no longer at {repo.path}"
        for repo in repos
        if _is_only_here(machine, repo) and not Path(repo.path).is_dir()
    }


def unusable(machine: Machine, repos: Iterable[Repo]) -> Mapping[str, str]:
    """Repos whose own settings, as on their trunk, cannot be used; with the reason."""
    found = {repo.name: trouble_of(kept(machine.home, repo.name)) for repo in repos}
    return {name: why for name, why in found.items() if why}


def unusable_since(machine: Machine, repo: str) -> datetime:
    """When this machine saw the present settings of this repo appear on its trunk."""
    return datetime.fromtimestamp(kept_at(machine.home, repo).stat().st_mtime, UTC)


def _is_only_here(machine: Machine, repo: Repo) -> bool:
    return not repo.shared and (machine.host in repo.paths or not has_many_machines(machine))
