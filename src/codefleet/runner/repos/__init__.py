"""What a runner does with git: branches, trunks, checkouts, worktrees on disk, remotes."""
