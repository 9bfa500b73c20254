"""Which files one tree has that another has not, from the trees themselves."""

from collections.abc import Mapping
from typing import NamedTuple

from codefleet.runner.git.git import Git
from codefleet.runner.git.object_reader import look_up

FOLDER = b"40000"
MOST = 200
"""How many folders to compare before git itself does."""
DIFF = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=A")


class Entry(NamedTuple):
    mode: bytes
    id: str


Entries = Mapping[bytes, Entry]


async def added(git: Git, old: str, new: str) -> list[str]:
    """The files in `new` (a commit or tree) that `old` has not, sorted."""
    found = await _added(git, f"{old}^{{tree}}", f"{new}^{{tree}}", b"", [MOST])
    if found is None:
        return [name for name in (await git(*DIFF, old, new)).split("\0") if name]
    return sorted(path.decode(errors="surrogateescape") for path in found)


async def _added(
    git: Git, old: str | None, new: str, above: bytes, left: list[int]
) -> list[bytes] | None:
    left[0] -= 1
    trees = await look_up(git.folder, *filter(None, [new, old]), contents=True)
    if trees is None or not all(trees) or left[0] < 0:
        return None
    after, *others = [_entries(tree.content, len(tree.id) // 2) for tree in trees if tree]
    before: Entries = others[0] if others else {}
    found: list[bytes] = []
    for name, entry in after.items():
        was, path = before.get(name), above + name
        if was == entry:
            continue
        had_folder = was is not None and was.mode == FOLDER
        if entry.mode == FOLDER:
            inside = await _added(
                git, was.id if was and had_folder else None, entry.id, path + b"/", left
            )
            if inside is None:
                return None
            found += inside
        elif was is None or had_folder:
            found.append(path)
    return found


def _entries(tree: bytes, id_length: int) -> Entries:
    """The contents of a tree object: for each entry its mode, a space, its name, a zero, its id."""
    found, at = {}, 0
    while at < len(tree):
        space = tree.index(b" ", at)
        end = tree.index(b"\0", space)
        at_next = end + 1 + id_length
        found[tree[space + 1 : end]] = Entry(tree[at:space], tree[end + 1 : at_next].hex())
        at = at_next
    return found
