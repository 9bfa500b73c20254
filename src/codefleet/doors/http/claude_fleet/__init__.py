"""The routes of claude-fleet, with its payloads: views over the fleet's own verbs.

`docs/how-to/come-from-claude-fleet.md` maps all of claude-fleet to what does it here.
"""
