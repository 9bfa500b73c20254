"""Shell completion."""

import click
from click.shell_completion import get_completion_class

from codefleet.doors.cli.call import say

INSTALL = {
    "bash": "fleet completion bash > ~/.local/share/bash-completion/completions/fleet",
    "zsh": 'fleet completion zsh > "${fpath[1]}/_fleet"',
    "fish": "fleet completion fish > ~/.config/fish/completions/fleet.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(INSTALL)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell: commands, options and task ids."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "fleet", "_FLEET_COMPLETE").source()
    click.echo(script)
    say(f"to install it for every new shell:\n  {INSTALL[shell]}")
