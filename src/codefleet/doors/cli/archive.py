"""Move the events of long-finished tasks to compressed files."""

import click

from codefleet.domain.moment import span
from codefleet.doors.cli.call import call, say
from codefleet.doors.cli.text import count


@click.command()
@click.option(
    "--older-than",
    metavar="SPAN",
    default="30d",
    show_default=True,
    help="Only tasks that finished this long ago: 12h, 30d, 8w.",
)
@click.option("--dry-run", is_flag=True, help="Only show how much would be moved.")
def archive(older_than: str, dry_run: bool) -> None:
    """Move events of finished tasks from the store to compressed files in the home.

    `fleet log --archived` reads them back. Tasks, runs and costs stay in the store.
    """
    age = span(older_than)
    moved = call(lambda fleet: fleet.archive(older_than=age, dry_run=dry_run))
    for file in moved.files:
        click.echo(file)
    what = f"{count(moved.events, 'event')} of {count(moved.tasks, 'task')}"
    say(f"{what} {'would be moved' if dry_run else 'moved'}")
