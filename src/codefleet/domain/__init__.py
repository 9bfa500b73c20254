"""The rules of a fleet, as pure functions over frozen nouns: no I/O, no clock, no randomness."""
