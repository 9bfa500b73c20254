"""What limits the work: money, memory, context windows, resting accounts."""
