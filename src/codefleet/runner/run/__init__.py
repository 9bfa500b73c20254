"""One run, from its worktree to its verdict."""
