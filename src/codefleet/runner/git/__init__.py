"""Git as a runner uses it: branches, refs, worktrees, and how no work is lost."""
