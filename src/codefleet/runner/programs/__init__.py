"""The agent programs on this machine: installed, working, logged in."""
