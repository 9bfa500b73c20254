"""The Model Context Protocol: any agent or editor that speaks it can command the fleet."""
