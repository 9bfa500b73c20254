"""A log of unexpected errors, for whoever fixes them."""

import os
import traceback
from pathlib import Path

from codefleet.config.private import make_folder, open_text
from codefleet.domain.secrets import redact


def record(log: Path, where: str, surprise: BaseException) -> bool:
    """Append the traceback to the log; False if it cannot be written."""
    story = "".join(traceback.format_exception(surprise))
    try:
        make_folder(log.parent)
        with open_text(log, os.O_CREAT | os.O_APPEND) as file:
            file.write(redact(f"{where}\n{story}\n"))
    except OSError:
        return False
    return True
