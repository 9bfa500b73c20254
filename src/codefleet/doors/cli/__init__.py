"""The command line: `fleet`, a file per noun."""

import gc
from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run the program and leave with the exit code that fits how it ended."""
    gc.disable()  # while modules load there is no garbage, and looking for it takes a tenth of it
    try:
        from codefleet.doors.cli.program import run  # here, so that Ctrl-C is heeded from the start

        run(args)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        gc.enable()
