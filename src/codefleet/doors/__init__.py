"""The doors: each reads input, calls one verb of the core and shows the result."""
