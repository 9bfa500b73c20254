"""One agent at work: what it is told, what is heard of it, and what it leaves behind."""
