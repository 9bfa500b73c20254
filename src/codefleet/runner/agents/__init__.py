"""One agent at work: its prompt, its output, and what it leaves behind."""
