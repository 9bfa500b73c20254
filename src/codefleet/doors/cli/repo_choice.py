"""The repository that a command is about: the current one, or one that the user names."""

from pathlib import Path

from codefleet.domain.errors import Invalid, NotFound
from codefleet.doors.cli.call import say
from codefleet.doors.cli.text import clean
from codefleet.fleet import Fleet
from codefleet.runner.elsewhere import elsewhere
from codefleet.runner.repos import known_repo


def repo_here() -> Path | None:
    """The root of the current repository, found without starting git."""
    folder = Path.cwd()
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def bare_here() -> Path | None:
    """The current folder, if it looks like a bare repository."""
    folder = Path.cwd()
    is_bare = all((folder / name).exists() for name in ("HEAD", "objects", "refs"))
    return folder if is_bare else None


async def repo_name(fleet: Fleet, wanted: str | None) -> str | None:
    """The name of the repo wanted by name or path, or of the current one.

    None outside a repository, unless there are several: the core knows the only one.
    """
    known = [repo.name for repo in await fleet.repos()]
    if wanted in known:
        return wanted
    folder = Path(wanted) if wanted else repo_here()
    if elsewhere(fleet):
        return _same_name(folder, known)
    if folder:
        return (await known_repo(fleet, folder)).name
    if len(known) > 1:
        names = ", ".join(map(clean, known))
        raise Invalid("which repository?", hint=f"name one with --repo: {names}")
    if known:
        say(f"you are not in a repository; using {clean(known[0])}, the only one of this fleet")
    return None


def _same_name(folder: Path | None, known: list[str]) -> str | None:
    """The repo of a fleet at a distance that is called like this folder."""
    if folder is None or folder.name in known:
        return folder.name if folder else None
    listed = ", ".join(map(clean, known)) or "none"
    raise NotFound(
        f"the fleet has no repo {clean(folder.name)}", hint=f"choose with --repo; it has: {listed}"
    )
