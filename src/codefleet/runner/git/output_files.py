"""What a git reads and writes, in files without a name.

Nothing has to be read while git runs, and a child that it leaves behind keeps nobody waiting, as it
would by holding a pipe open.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from codefleet import platform
from codefleet.platform.parts import Files


@contextmanager
def output_files(stdin: str | None) -> Iterator[Files]:
    """Files for one git, the first with what it is told."""
    with ExitStack() as stack:
        files = Files(*(_opened(stack) for _ in Files._fields))
        if stdin:
            _fill(files.stdin, stdin.encode(errors="surrogateescape"))
        yield files


def content(file: int) -> bytes:
    """What is in a file by now."""
    if not os.fstat(file).st_size:
        return b""
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(file, "rb", closefd=False) as whole:
        return whole.read()


def _opened(stack: ExitStack) -> int:
    file = platform.children().unnamed_file()
    stack.callback(os.close, file)
    return file


def _fill(file: int, words: bytes) -> None:
    with os.fdopen(file, "wb", closefd=False) as into:
        into.write(words)
    os.lseek(file, 0, os.SEEK_SET)
