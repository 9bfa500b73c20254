"""Check the page: style, types, and the tests of its parts."""

import subprocess
import sys

from web.tools import node

STEPS = (("biome", "check", "."), ("tsc", "--noEmit"), ("vitest", "run"))


def check() -> int:
    """0 if all is well."""
    with node.alone():
        node.install()
    for step in STEPS:
        try:
            node.run(*step)
        except subprocess.CalledProcessError as failed:
            sys.stdout.buffer.write(failed.stdout)
            return failed.returncode
    return 0


if __name__ == "__main__":
    sys.exit(check())
