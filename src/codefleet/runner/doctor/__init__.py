"""Whether the fleet has everything it needs, and how to get what is missing."""
