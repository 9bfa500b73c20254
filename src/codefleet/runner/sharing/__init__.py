"""Several machines: the remote through which they share a repo."""
