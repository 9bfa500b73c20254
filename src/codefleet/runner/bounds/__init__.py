"""What limits the work: money, memory, resting accounts."""
