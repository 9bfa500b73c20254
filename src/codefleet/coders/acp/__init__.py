"""Any agent that speaks the Agent Client Protocol (ACP), as one coder.

`coder.py` is the coder, pure like all of them. `bridge.py` is the program that it starts: it holds
the agent's pipes, speaks ACP as a client, and prints the fleet's own protocol (see jsonl.py).
"""

from codefleet.coders.acp.coder import coder

__all__ = ["coder"]
