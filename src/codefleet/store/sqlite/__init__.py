"""The store that needs nothing: one SQLite file, shared by every process of one machine."""
