"""Workflows: stages that become tasks, and what they hand on to each other."""
