"""What nobody expected, written down for whoever mends it."""

import traceback
from pathlib import Path

from codefleet.domain.secrets import redact


def record(log: Path, where: str, surprise: BaseException) -> bool:
    """Append the whole story to the log; one that cannot be written is no further trouble."""
    story = "".join(traceback.format_exception(surprise))
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(redact(f"{where}\n{story}\n"))
    except OSError:
        return False
    return True
