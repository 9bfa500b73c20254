"""The model server as a program: `python -m codefleet.testing.model_server [PORT]`."""

import argparse
import sys
import threading

from codefleet.testing.model_server import ModelServer


def main() -> None:
    """Tell the address, and answer until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m codefleet.testing.model_server",
        description="A model that needs no key, for tests: it prints its address and answers "
        "until interrupted.",
    )
    parser.add_argument("port", type=int, nargs="?", default=0, help="any free one by default")
    port: int = parser.parse_args().port
    with ModelServer(port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
