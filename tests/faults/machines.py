"""Machines for tests, to be broken: each with its own home, name, clone and wires."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from tests.faults.wires import Wire
from tests.gitrepo import ALONE

LEASE_S = 4.0
SETTINGS = f"""\
lease_s = {LEASE_S}
attempts = 100
rest_s = 0.0
grace_s = 1.0
durability = "normal"
"""


class Machine:
    """One machine of a fleet. Its processes are identified by their $HOME, and die with it."""

    def __init__(self, root: Path, name: str, store: str, remote: Wire, **variables: str) -> None:
        self.root, self.name = root / name, name
        self.store, self.remote = store, remote
        self.home = self.root / ".fleet"
        self.home.mkdir(parents=True)
        (self.home / "fleet.toml").write_text(SETTINGS)
        self._runner: subprocess.Popen[bytes] | None = None
        self._variables = variables

    @property
    def url(self) -> str:
        """The address of the remote, through this machine's own wire."""
        return f"git://127.0.0.1:{self.remote.port}/shop.git"

    @property
    def env(self) -> dict[str, str]:
        """The environment that sets this machine apart; every git address uses its own wire."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {
            **kept,
            **ALONE,
            "HOME": str(self.root),
            "FLEET_HOST": self.name,
            "FLEET_STORE": self.store,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{self.url}.insteadOf",
            "GIT_CONFIG_VALUE_0": "git://shop.example/shop.git",
            **self._variables,
        }

    def fleet(self, *words: str, at: Path | None = None) -> str:
        """Call the program on this machine; it must succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "codefleet", *words],
            cwd=at or self.root,
            env=self.env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def clone(self) -> Path:
        folder = self.root / "shop"
        words = ["git", "clone", "--quiet", "git://shop.example/shop.git", str(folder)]
        subprocess.run(words, check=True, env=self.env, cwd=self.root)
        return folder

    def start(self, agents: str = "0..2") -> None:
        """Start a runner."""
        with (self.root / "runner.log").open("ab") as log:
            self._runner = subprocess.Popen(
                [sys.executable, "-m", "codefleet", "run", f"--agents={agents}"],
                cwd=self.root,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def stop(self) -> None:
        """Stop the runner as a human would; one that is just starting ends at once."""
        assert self._runner
        self._runner.send_signal(signal.SIGTERM)
        assert self._runner.wait(60) in (128 + signal.SIGTERM, -signal.SIGTERM), self.log()

    def kill(self) -> None:
        """Kill everything at once, like a power cut."""
        self.freeze()
        self._send(signal.SIGKILL)
        if self._runner:
            self._runner.wait(30)

    def freeze(self) -> None:
        """Stop every process, including those started meanwhile."""
        seen: set[int] = set()
        while found := {process.pid for process in self._processes()} - seen:
            seen |= found
            self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def log(self) -> str:
        crashes = self.home / "logs" / "crash.log"
        told = crashes.read_text() if crashes.exists() else ""
        return (self.root / "runner.log").read_text()[-3000:] + told[-3000:]

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes():
            with suppress(psutil.Error):
                process.send_signal(number)

    def _processes(self) -> Iterable[psutil.Process]:
        return [each for each in psutil.process_iter() if _home_of(each) == str(self.root)]


def _home_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("HOME")
    except psutil.Error:
        return None
