"""The tightest loop over SQLite with the same guarantees, to measure the store against.

It is durable (WAL, the same `synchronous`), a claim is atomic and gives a fence and a lease, a
completion is fenced and unblocks what waited, and each step writes its event in the same
transaction. It has no runs, no scopes, no filters, no versions and checks no input; a task is a
row with an integer for its id, and nothing is parsed. `RawRuns` also keeps the run: a row with the
lease, added by the claim and ended by the completion; a task has at most one live run.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

SCHEMA = """
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY, body TEXT NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL,
    unmet INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0, lease_until TEXT
);
CREATE INDEX ready ON tasks (priority DESC, id) WHERE state = 'pending' AND unmet = 0;
CREATE INDEX states ON tasks (state, unmet);
CREATE TABLE needs (
    task INTEGER NOT NULL, need INTEGER NOT NULL, PRIMARY KEY (task, need)
) WITHOUT ROWID;
CREATE INDEX needed ON needs (need, task);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, task INTEGER, kind TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX told ON events (task, seq);
"""
ADD = "INSERT INTO tasks (id, body, state, priority, unmet) VALUES (?, ?, 'pending', 3, ?)"
NEED = "INSERT INTO needs (task, need) VALUES (?, ?)"
CLAIM = """
UPDATE tasks SET state = 'running', fence = fence + 1, lease_until = ? WHERE id = (
    SELECT id FROM tasks INDEXED BY ready WHERE state = 'pending' AND unmet = 0
    ORDER BY priority DESC, id LIMIT 1
) RETURNING id, fence, body
"""
COMPLETE = "UPDATE tasks SET state = 'completed' WHERE id = ? AND fence = ? AND state = 'running'"
UNBLOCK = "UPDATE tasks SET unmet = unmet - 1 WHERE id IN (SELECT task FROM needs WHERE need = ?)"
TELL = "INSERT INTO events (task, kind, body) VALUES (?, ?, ?)"
COUNT = "SELECT state, unmet > 0, count(*) FROM tasks GROUP BY state, unmet"
RUNS = """
CREATE TABLE runs (
    task INTEGER NOT NULL, number INTEGER NOT NULL, lease_until TEXT NOT NULL, outcome TEXT,
    body TEXT NOT NULL, PRIMARY KEY (task, number)
);
CREATE UNIQUE INDEX live ON runs (task) WHERE outcome IS NULL;
"""
START = "INSERT INTO runs (task, number, lease_until, body) VALUES (?, ?, ?, ?)"
END = "UPDATE runs SET outcome = 'submitted', body = ? WHERE task = ? AND number = ?"
LEASE = "2026-01-01T00:00:00"
PATIENCE_S = 60.0

Claimed = tuple[int, int, str]


class RawQueue:
    """A hand-written queue."""

    def __init__(self, path: Path, durability: str, body: str, *, new: bool = True) -> None:
        self.connection = sqlite3.connect(
            path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
        )
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute(f"PRAGMA synchronous = {durability}")
        if new:
            self.connection.executescript(SCHEMA)
        self.body = body

    def add(self, tasks: Iterable[int], needs: Sequence[tuple[int, int]] = ()) -> None:
        run = self.connection.execute
        unmet: dict[int, int] = {}
        for task, _ in needs:
            unmet[task] = unmet.get(task, 0) + 1
        run("BEGIN IMMEDIATE")
        rows = [(task, self.body, unmet.get(task, 0)) for task in tasks]
        self.connection.executemany(ADD, rows)
        self.connection.executemany(NEED, needs)
        self.connection.executemany(TELL, [(row[0], "added", "{}") for row in rows])
        run("COMMIT")

    def claim(self, workers: int = 1) -> list[Claimed]:
        """One task for each worker; their claims share a commit, as ours do."""
        run = self.connection.execute
        claimed: list[Claimed] = []
        run("BEGIN IMMEDIATE")
        for _ in range(workers):
            for task in run(CLAIM, (LEASE,)).fetchall():
                run(TELL, (task[0], "started", "{}"))
                claimed.append(task)
        run("COMMIT")
        return claimed

    def complete(self, claimed: Iterable[Claimed]) -> None:
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        for task, fence, _ in claimed:
            if run(COMPLETE, (task, fence)).rowcount:
                run(UNBLOCK, (task,))
                run(TELL, (task, "completed", "{}"))
        run("COMMIT")

    def tell(self, many: int) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(TELL, [(1, "said", self.body)] * many)
        self.connection.execute("COMMIT")

    def counts(self) -> list[tuple[str, int, int]]:
        return self.connection.execute(COUNT).fetchall()

    def close(self) -> None:
        self.connection.close()


class RawRuns(RawQueue):
    """The same queue with a row for each run."""

    def __init__(self, path: Path, durability: str, body: str, run_body: str) -> None:
        super().__init__(path, durability, body)
        self.connection.executescript(RUNS)
        self.run_body = run_body

    def claim(self, workers: int = 1) -> list[Claimed]:
        run = self.connection.execute
        claimed: list[Claimed] = []
        run("BEGIN IMMEDIATE")
        for _ in range(workers):
            for task in run(CLAIM, (LEASE,)).fetchall():
                run(START, (task[0], task[1], LEASE, self.run_body))
                run(TELL, (task[0], "started", "{}"))
                claimed.append(task)
        run("COMMIT")
        return claimed

    def complete(self, claimed: Iterable[Claimed]) -> None:
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        for task, fence, _ in claimed:
            if run(COMPLETE, (task, fence)).rowcount:
                run(END, (self.run_body, task, fence))
                run(UNBLOCK, (task,))
                run(TELL, (task, "completed", "{}"))
        run("COMMIT")
