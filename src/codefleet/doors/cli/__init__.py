"""The command line: `fleet`, a file per noun."""

from codefleet.doors.cli.program import main

__all__ = ["main"]
