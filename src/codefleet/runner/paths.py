"""Where things are in a fleet's home."""

from pathlib import Path

from codefleet.domain.model import Run


class Paths:
    """The folders of one fleet home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @property
    def runs(self) -> Path:
        """The folders of all runs, each under the run's id."""
        return self.home / "runs"

    def run(self, run: Run) -> Path:
        """The folder of one run: prompt, output, exit record, evidence."""
        return self.runs / run.id

    def worktrees(self, repo: str) -> Path:
        return self.home / "worktrees" / repo

    def lane(self, repo: str) -> Path:
        """The lane's own worktree."""
        return self.home / "lanes" / repo

    def journal(self, repo: str) -> Path:
        """What the lane is about to do to a checked-out trunk, for recovery after a crash."""
        return self.home / "lanes" / f"{repo}.journal.json"

    def git_settings(self, repo: str) -> Path:
        """Git's settings in a repo as they were before agents worked there."""
        return self.home / "settings" / f"{repo}.json"

    def remote_lock(self, repo: str) -> Path:
        """Held while this machine talks to the repo's remote."""
        return self.home / "locks" / f"{repo}.remote.lock"

    def lock(self, repo: str) -> Path:
        return self.home / "locks" / f"{repo}.lock"

    def crash_log(self) -> Path:
        return self.home / "logs" / "crash.log"
