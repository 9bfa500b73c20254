"""What bounds the work: money, memory, accounts at rest."""
