"""Which repos a runner may start work on now."""

from collections.abc import Callable

from codefleet.runner.context import Context


async def startable_repos(
    context: Context, when_done: Callable[[], None]
) -> tuple[str, ...] | None:
    """The repos that are available and have daily budget left.

    Empty means all, None means none. `when_done` is called when another becomes available.
    """
    repos = await context.fleet.repos()
    context.open_repos(repos, when_done)
    lost = await context.missing_repos(repos)
    for trouble in context.reachability.news():
        await context.dispatch.report_unreachable(trouble)
    away = await context.out_of_reach()
    await context.look_at_trunks([repo for repo in repos if repo.name not in lost | away])
    spent = await context.dispatch.spent_up()
    closed = {*spent, *away, *lost, *await context.tell_unusable(repos)}
    if not closed:
        return ()
    return tuple(repo.name for repo in repos if repo.name not in closed) or None
