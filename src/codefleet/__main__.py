"""python -m codefleet: the same program as `fleet`."""

from codefleet.doors.cli import main

main()
