"""The lane: how finished work reaches the trunk."""
