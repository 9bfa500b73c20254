"""The measurements behind the numbers in the docs, each next to a raw baseline."""
