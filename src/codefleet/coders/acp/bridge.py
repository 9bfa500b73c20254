"""The bridge to an ACP agent: a program that a keeper starts as if it were the agent itself.

    python -P bridge.py [--mode=M] [--model=M] [--auth=A] [--resume=S] [--judged=TOOLS ...]
        [--server=WORD ...] -- AGENT [ARGUMENT ...]

It starts the agent in its own folder and speaks the Agent Client Protocol with it, and the fleet's
own protocol (see jsonl.py) with the runner. SIGTERM and SIGINT cancel the turn and end the bridge.
"""

import argparse
import asyncio
import os
import sys

from codefleet.coders.acp import wire
from codefleet.coders.acp.telling import tell
from codefleet.coders.acp.wish import Wish


async def main(argv: list[str]) -> int:
    """Start the agent, and talk with it until the end."""
    parser = argparse.ArgumentParser(prog="bridge", allow_abbrev=False)
    for name in ("mode", "model", "auth", "resume"):
        parser.add_argument(f"--{name}")
    for name in ("judged", "server"):
        parser.add_argument(f"--{name}", action="append", default=[])
    parser.add_argument("agent", nargs="+")
    given = vars(parser.parse_args(argv))
    command = given.pop("agent")
    try:
        agent = await wire.start(command, os.environ)
    except OSError as wrong:
        said = f"cannot run {command[0]}: {wrong.strerror}"
        tell([{"type": "broke", "text": said, "reason": "coder_missing"}])
        return 1
    # Imported only now, because the library loads slowly: the agent starts meanwhile.
    from codefleet.coders.acp.conversation import Conversation

    return await Conversation(agent, Wish(**given)).run()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
