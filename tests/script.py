"""Prompts for the scripted agent."""


def script(*steps: str) -> str:
    """A prompt whose script has these steps."""
    return "```fleet\n" + "\n".join(steps) + "\n```"
