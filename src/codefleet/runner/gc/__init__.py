"""Removing what is no longer needed, and never anything that exists only once."""
