"""Command groups that suggest the command you probably meant."""

from collections.abc import Iterable

import click

from codefleet.domain.suggestion import did_you_mean
from codefleet.doors.cli.text import clean


def no_command(ctx: click.Context, said: str, known: Iterable[str]) -> click.UsageError:
    """The error for a command that does not exist."""
    meant = did_you_mean(said, known)
    words = f"there is no command {clean(said)!r}"
    return click.UsageError(f"{words}; {meant}" if meant else words, ctx)


class Subcommands(click.Group):
    """A group that suggests the command you probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise no_command(ctx, args[0], self.commands)
        return super().resolve_command(ctx, args)
