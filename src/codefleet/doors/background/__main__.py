"""The program of a background runner: `python -m codefleet.doors.background HOME`."""

import asyncio
import sys
from pathlib import Path

from codefleet.doors.background import work

if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1])))
