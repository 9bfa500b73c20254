"""The bridge to an ACP agent: a program that a keeper starts as if it were the agent itself.

    python -P bridge.py [--mode=M] [--model=M] [--auth=A] [--resume=S] [--judged=TOOLS ...]
        [--server=WORD ...] [--endpoint=URL] -- AGENT [ARGUMENT ...]

It starts the agent in its own folder and speaks the Agent Client Protocol with it, and the fleet's
own protocol (see jsonl.py) with the runner. SIGTERM and SIGINT cancel the turn and end the bridge.
"""

import argparse
import asyncio
import os
import sys

from codefleet.coders import mcp_config
from codefleet.coders.acp import wire
from codefleet.coders.acp.bridge_options import Wish
from codefleet.coders.acp.bridge_output import tell


async def main(argv: list[str]) -> int:
    """Start the agent, and talk with it until the end."""
    parser = argparse.ArgumentParser(prog="bridge", allow_abbrev=False)
    for name in ("mode", "model", "auth", "resume", "endpoint"):
        parser.add_argument(f"--{name}")
    for name in ("judged", "server"):
        parser.add_argument(f"--{name}", action="append", default=[])
    parser.add_argument("agent", nargs="+")
    given = vars(parser.parse_args(argv))
    command, token = given.pop("agent"), os.environ.pop(mcp_config.TOKEN, "")
    try:
        agent = await wire.start(command, os.environ)
    except OSError as wrong:
        said = f"cannot run {command[0]}: {wrong.strerror}"
        tell([{"type": "broke", "text": said, "reason": "coder_missing"}])
        return 1
    # Imported only now, because the library loads slowly: the agent starts meanwhile.
    from codefleet.coders.acp.conversation import Conversation

    return await Conversation(agent, Wish(**given, token=token)).run()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
