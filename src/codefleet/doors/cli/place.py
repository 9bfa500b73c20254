"""Where the user stands, or points to: the repository that a command is about."""

from pathlib import Path

from codefleet.doors.cli.call import say
from codefleet.doors.cli.text import clean
from codefleet.fleet import Fleet
from codefleet.runner.repos.repository import known_repo


def repo_here() -> Path | None:
    """The root of the repository that we stand in, found without starting git."""
    folder = Path.cwd()
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def bare_here() -> Path | None:
    """The folder that we stand in, if it looks like a repository without a checkout."""
    folder = Path.cwd()
    is_bare = all((folder / name).exists() for name in ("HEAD", "objects", "refs"))
    return folder if is_bare else None


async def repo_name(fleet: Fleet, wanted: str | None) -> str | None:
    """The name of the repo that is wanted by name or path, or that we stand in.

    Nothing when we stand in none: the core knows what to do when there is only one.
    """
    known = [repo.name for repo in await fleet.repos()]
    if wanted in known:
        return wanted
    folder = Path(wanted) if wanted else repo_here()
    if folder:
        return (await known_repo(fleet, folder)).name
    if len(known) == 1:
        say(f"you are in no repository; this is for {clean(known[0])}, the only one of this fleet")
    return None
