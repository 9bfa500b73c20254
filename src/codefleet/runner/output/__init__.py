"""What an agent says while it works, and the answers it gets."""
