"""Keys in work that is about to land: in any of its commits, because history lands too."""

from collections.abc import Mapping
from pathlib import Path

from codefleet.domain.secrets import SHORTEST_VALUE
from codefleet.runner.git.git import PLAIN_DIFF, Git

CHUNK = 1 << 18
LOG = ("log", "--patch", "--cc", "--text", "--unified=0", "--no-color", "--format=%an%n%ae%n%B")


async def leaked(repo: Path, tip: str, trunk: str, known: Mapping[str, str]) -> list[str]:
    """The names of the variables whose values are in commits that the trunk does not have."""
    sought = {value.encode(): name for value, name in known.items() if len(value) >= SHORTEST_VALUE}
    if not sought:
        return []
    git = await Git(repo).start(*LOG, *PLAIN_DIFF, tip, "--not", trunk, "--", talks=False)
    assert git.stdout
    margin = max(map(len, sought))
    found, held = set(), b""
    while piece := await git.stdout.read(CHUNK):
        text = held + piece
        found |= {name for value, name in sought.items() if value in text}
        held = text[-margin:]
    await git.wait()
    return sorted(found)
