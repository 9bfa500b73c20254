"""The store that needs no setup: one SQLite file, shared by all processes of one machine."""
