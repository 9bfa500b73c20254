"""The model server as a program: `python -m codefleet.testing.model_server [PORT]`."""

import sys
import threading

from codefleet.testing.model_server import ModelServer


def main() -> None:
    """Tell the address, and answer until interrupted."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with ModelServer(port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
