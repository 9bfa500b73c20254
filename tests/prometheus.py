"""A real Prometheus and its promtool: those of this machine, or else Debian's, unpacked."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

from codefleet.doors.network import listen
from tests.programs.debian import unpacked
from tests.programs.install import NotInstallable

WITHIN_S = 60.0


@cache
def missing() -> str | None:
    """Why there is no Prometheus here, if so."""
    try:
        program("promtool")
    except NotInstallable as why:
        return f"no Prometheus: {why}"
    return None


def program(name: str) -> str:
    """The path of `prometheus` or `promtool`."""
    return shutil.which(name) or str(unpacked("prometheus", alone=True) / "usr" / "bin" / name)


def check(*words: str, text: str | None = None) -> str:
    """What promtool complains about; empty if there is nothing."""
    done = subprocess.run(
        [program("promtool"), "check", *words],
        input=text,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@contextmanager
def scraping(settings: Path) -> Iterator[str]:
    """A Prometheus with these settings; yields its address."""
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    argv = [
        *(program("prometheus"), f"--config.file={settings}"),
        *(f"--web.listen-address=127.0.0.1:{port}", f"--storage.tsdb.path={settings.parent}/data"),
    ]
    running = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield url
    finally:
        running.terminate()
        running.wait(WITHIN_S)


def value(url: str, query: str) -> float:
    """The value of a query, as soon as it has one."""
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        found = _asked(url, query)
        if found is not None:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{query} has no value")


def _asked(url: str, query: str) -> float | None:
    try:
        with urlopen(f"{url}/api/v1/query?query={quote(query)}", timeout=WITHIN_S) as answer:
            found = json.load(answer)["data"]["result"]
    except (URLError, ConnectionError):  # it is still starting
        return None
    return float(found[0]["value"][1]) if found else None
