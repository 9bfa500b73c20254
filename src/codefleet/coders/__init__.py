"""One file per kind of agent program: how to start it and how to read its output."""
