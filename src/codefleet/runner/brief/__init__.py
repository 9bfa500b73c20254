"""What an agent is told: its prompt, its notes, and where an earlier run stopped."""
