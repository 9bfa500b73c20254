"""The fleet's home: init, gc, reset."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from codefleet.config import FILE, sample
from codefleet.domain.errors import Workspace
from codefleet.domain.model import Repo
from codefleet.doors.cli.call import call, home, repo_here, say

if TYPE_CHECKING:
    from codefleet.fleet import Fleet


@click.command()
def init() -> None:
    """Set up the fleet's home and make the repository here known to it.

    Nothing that is there already is changed, so it can be called again at any time.
    """
    folder = home()
    settings_new = _write_settings(folder)
    store_new = not any(folder.glob("*.db"))
    here = repo_here()
    repo = call(lambda fleet: _register(fleet, here), create=True)
    say(f"{'made' if store_new else 'found'} the fleet's home {folder}")
    say(f"{'wrote' if settings_new else 'kept'} the settings {folder / FILE}")
    if repo:
        say(f"{repo.name} is a repo of this fleet: {repo.path}, trunk {repo.trunk}")
        say('next: fleet add "What to do", then fleet run')
    else:
        say("this is no git repository; call `fleet init` inside one to make it known")


def _write_settings(folder: Path) -> bool:
    """Write a file of commented defaults, unless there is one."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (folder / FILE).open("x", encoding="utf-8") as file:
            file.write(sample())
    except FileExistsError:
        if folder.is_dir():
            return False
        raise Workspace(f"{folder} is a file", hint="name a folder: --home DIR") from None
    except OSError as wrong:
        raise Workspace(
            f"cannot make the fleet's home {folder}: {wrong.strerror}",
            hint="name a folder that you may write: --home DIR, or $FLEET_HOME",
        ) from wrong
    return True


async def _register(fleet: "Fleet", folder: Path | None) -> Repo | None:
    from codefleet.runner.repository import register  # here, because only some calls need git

    return await register(fleet, folder) if folder else None
