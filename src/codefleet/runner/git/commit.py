"""Making commits, by the user if git knows who that is, else by the fleet."""

from collections.abc import Mapping, Sequence

from codefleet.runner.git.git import Git

NOBODY = {
    "GIT_AUTHOR_NAME": "codefleet",
    "GIT_AUTHOR_EMAIL": "codefleet@localhost",
    "GIT_COMMITTER_NAME": "codefleet",
    "GIT_COMMITTER_EMAIL": "codefleet@localhost",
}
NO_GUESS = ("-c", "user.useConfigOnly=true")


async def commit_tree(git: Git, tree: str, parents: Sequence[str], message: str) -> str:
    """A new commit of this tree; no ref moves."""
    words = ("commit-tree", tree, *(f"-p{parent}" for parent in parents), "-F", "-")
    by_user = await git.run(*NO_GUESS, *words, stdin=message)
    if by_user.code == 0:
        return by_user.out.strip()
    return await git(*words, stdin=message, env=await identity(git))


async def identity(git: Git) -> Mapping[str, str]:
    """The environment for a commit: empty if the user has an identity, else the fleet's."""
    known = await git.run(*NO_GUESS, "var", "GIT_COMMITTER_IDENT")
    return NOBODY if known.code else {}
