"""Processes: agents under keepers, their identity, their input, and what they leave running."""
