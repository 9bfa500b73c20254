"""The command line: `fleet`, a file per noun."""

import gc
from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run the program and exit with the matching exit code."""
    gc.disable()  # imports leave no garbage, and looking for it takes a tenth of their time
    try:
        from codefleet.doors.cli.program import run  # here, so that Ctrl-C works from the start

        run(args)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        gc.enable()
