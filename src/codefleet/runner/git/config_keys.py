"""Which of git's settings start programs, break a checkout, or are harmless."""

import re
from collections.abc import Sequence

STARTS_PROGRAMS = re.compile(
    r"core\.(fsmonitor|hookspath|pager|editor|sshcommand|askpass|gitproxy|alternaterefscommand)"
    r"|core\.attributesfile|init\.templatedir|include\.path|includeif\..*\.path"
    r"|alias\..*|pager\..*|filter\..*|hook\..*|sequence\.editor|interactive\.difffilter"
    r"|merge\..*\.(driver|recursive)|diff\.external|diff\..*\.(command|textconv|cachetextconv)"
    r"|(mergetool|difftool|guitool|browser|man)\..*\.(cmd|path)|(merge|diff)\.(tool|guitool)"
    r"|(web|help)\.browser|instaweb\..*|imap\.tunnel|sendemail\..*|gpg\..*|trailer\..*|tar\..*"
    r"|credential\..*|protocol\..*|url\..*|uploadpack\..*|receive\..*|uploadarchive\..*"
    r"|remote\..*\.(uploadpack|receivepack|vcs|proxy|promisor)|extensions\.partialclone"
    r"|submodule\..*\.update|lfs\.(customtransfer|extension)\..*|lfs\..*\.(path|args)|http\..*"
    r"|(commit|tag|push)\.gpgsign|user\.signingkey"
)
"""Settings that make git run a program, or contact a different server."""
BREAKS_CHECKOUT = re.compile(r"core\.(bare|worktree|excludesfile)|(user|author|committer)\..*")
"""Settings that no user changes while agents work, and that cause trouble if an agent does."""
HARMLESS = re.compile(
    r"branch\..*\.(remote|merge|rebase|pushremote|description|[a-z]+-merge-base)"
    r"|submodule\..*\.(url|active)"
    r"|lfs\.repositoryformatversion|lfs\..*\.(access|locksverify)"
    r"|extensions\.worktreeconfig"  # a sparse checkout of one worktree needs it
    r"|(advice|color|gui)\..*"
)
"""Settings that git and its companions write in passing, and that lead to no program or server."""
SPARSE = re.compile(r"core\.sparsecheckout(cone)?|index\.sparse")
NEW_REMOTE = re.compile(r"(remote\..*\.)(url|fetch|gh-resolved)")
HELPER_ADDRESS = re.compile(r"[a-z0-9+.-]+::", re.IGNORECASE)


def starts_programs(name: str, values: Sequence[str] = ()) -> bool:
    """Does this setting, with these values, make git start a program?"""
    is_address = name.startswith("remote.") and name.endswith(("url", "pushurl"))
    if is_address and any(HELPER_ADDRESS.match(value) for value in values):
        return True
    return STARTS_PROGRAMS.fullmatch(name) is not None


def is_put_back(name: str, values: Sequence[str] = ()) -> bool:
    """Is this setting protected while agents work?"""
    return starts_programs(name, values) or BREAKS_CHECKOUT.fullmatch(name) is not None
