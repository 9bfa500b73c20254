"""Lines for the runner, on standard output."""

import json
import sys
from collections.abc import Iterable

from codefleet.coders.acp.reading import Line


def tell(lines: Iterable[Line]) -> None:
    """Print lines of the fleet's protocol, each complete, all at once."""
    for line in lines:
        sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
