"""The tightest loop over PostgreSQL with the same guarantees, to measure the store against.

A claim is atomic (SKIP LOCKED) and gives a fence and a lease, a completion is fenced and unblocks
what waited, and each is one statement with its event: one round trip to the server. It has no
runs, no scopes, no filters, no versions, no commit order, and checks no input. A second
one has runs, and numbers events in commit order.
"""

from collections.abc import Iterable, Sequence

import psycopg

SCHEMA = """
CREATE TABLE tasks (
    id int PRIMARY KEY, body text NOT NULL, state text NOT NULL DEFAULT 'pending',
    priority int NOT NULL DEFAULT 3, unmet int NOT NULL, fence int NOT NULL DEFAULT 0,
    lease_until timestamptz
);
CREATE INDEX ready ON tasks (priority DESC, id) WHERE state = 'pending' AND unmet = 0;
CREATE INDEX states ON tasks (state, unmet);
CREATE TABLE needs (task int NOT NULL, need int NOT NULL, PRIMARY KEY (task, need));
CREATE INDEX needed ON needs (need, task);
CREATE TABLE events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task int, kind text NOT NULL,
    body text NOT NULL
);
CREATE INDEX told ON events (task, seq);
"""
ADD = """
WITH added AS (
    INSERT INTO tasks (id, body, unmet) SELECT id, %(body)s, unmet
    FROM unnest(%(ids)s::int[], %(unmet)s::int[]) AS row (id, unmet) RETURNING id
), edges AS (
    INSERT INTO needs SELECT * FROM unnest(%(tasks)s::int[], %(needs)s::int[])
)
INSERT INTO events (task, kind, body) SELECT id, 'added', '{}' FROM added
"""
CLAIM = """
WITH taken AS (
    UPDATE tasks SET state = 'running', fence = fence + 1, lease_until = now() + interval '5 min'
    WHERE id IN (
        SELECT id FROM tasks WHERE state = 'pending' AND unmet = 0
        ORDER BY priority DESC, id LIMIT %(many)s FOR UPDATE SKIP LOCKED
    ) RETURNING id, fence, body
), told AS (INSERT INTO events (task, kind, body) SELECT id, 'started', '{}' FROM taken)
SELECT id, fence, body FROM taken
"""
COMPLETE = """
WITH done AS (
    UPDATE tasks SET state = 'completed'
    FROM unnest(%(ids)s::int[], %(fences)s::int[]) AS row (id, fence)
    WHERE tasks.id = row.id AND tasks.fence = row.fence AND state = 'running' RETURNING tasks.id
), freed AS (
    UPDATE tasks SET unmet = unmet - less.many FROM (
        SELECT task, count(*) AS many FROM needs JOIN done ON done.id = need GROUP BY task
    ) AS less WHERE tasks.id = less.task
)
INSERT INTO events (task, kind, body) SELECT id, 'completed', '{}' FROM done
"""
TELL = "INSERT INTO events (task, kind, body) SELECT 1, 'said', %s FROM generate_series(1, %s)"
COUNT = "SELECT state, unmet > 0, count(*) FROM tasks GROUP BY state, unmet"
RUNS = """
CREATE TABLE runs (
    id text PRIMARY KEY, task int NOT NULL, lease_until timestamptz NOT NULL, outcome text,
    body text NOT NULL
);
CREATE INDEX runs_of ON runs (task);
CREATE UNIQUE INDEX live ON runs (task) WHERE outcome IS NULL;
CREATE TABLE log (seq bigint NOT NULL);
INSERT INTO log VALUES (1000000000);  -- above all that come by themselves when tasks are added
"""
START = """
WITH taken AS (
    UPDATE tasks SET state = 'running', fence = fence + 1
    WHERE id IN (
        SELECT id FROM tasks WHERE state = 'pending' AND unmet = 0
        ORDER BY priority DESC, id LIMIT %(many)s FOR UPDATE SKIP LOCKED
    ) RETURNING id, fence, body
), started AS (
    INSERT INTO runs (id, task, lease_until, body)
    SELECT id || '.' || fence, id, now() + interval '5 min', %(run)s FROM taken
), last AS (UPDATE log SET seq = seq + (SELECT count(*) FROM taken) RETURNING seq), told AS (
    INSERT INTO events (seq, task, kind, body) OVERRIDING SYSTEM VALUE
    SELECT last.seq + 1 - row_number() OVER (), id, 'started', '{}' FROM taken, last
)
SELECT id, fence, body, pg_notify('raw', '') FROM taken
"""
END = """
WITH done AS (
    UPDATE tasks SET state = 'completed'
    FROM unnest(%(ids)s::int[], %(fences)s::int[]) AS row (id, fence)
    WHERE tasks.id = row.id AND tasks.fence = row.fence AND state = 'running' RETURNING tasks.id
), ended AS (
    UPDATE runs SET outcome = 'done', body = %(run)s FROM done
    WHERE runs.task = done.id AND outcome IS NULL
), freed AS (
    UPDATE tasks SET unmet = unmet - less.many FROM (
        SELECT task, count(*) AS many FROM needs JOIN done ON done.id = need GROUP BY task
    ) AS less WHERE tasks.id = less.task
), last AS (UPDATE log SET seq = seq + (SELECT count(*) FROM done) RETURNING seq), told AS (
    INSERT INTO events (seq, task, kind, body) OVERRIDING SYSTEM VALUE
    SELECT last.seq + 1 - row_number() OVER (), id, 'completed', '{}' FROM done, last
)
SELECT pg_notify('raw', '') FROM last
"""

Claimed = tuple[int, int, str]


class RawPostgres:
    """A hand-written queue, with prepared statements."""

    def __init__(self, address: str, body: str, *, new: bool = True) -> None:
        self.connection = psycopg.connect(address, autocommit=True, prepare_threshold=1)
        if new:
            self.connection.execute(SCHEMA)
        self.body = body

    def add(self, tasks: Iterable[int], needs: Sequence[tuple[int, int]] = ()) -> None:
        unmet: dict[int, int] = {}
        for task, _ in needs:
            unmet[task] = unmet.get(task, 0) + 1
        ids = list(tasks)
        self.connection.execute(
            ADD,
            {
                "body": self.body,
                "ids": ids,
                "unmet": [unmet.get(task, 0) for task in ids],
                "tasks": [task for task, _ in needs],
                "needs": [need for _, need in needs],
            },
        )

    def claim(self, workers: int = 1) -> list[Claimed]:
        """One task for each worker; their claims share a commit, as ours do."""
        return self.connection.execute(CLAIM, {"many": workers}).fetchall()

    def complete(self, claimed: Iterable[Claimed]) -> None:
        given = list(claimed)
        ids, fences = [one[0] for one in given], [one[1] for one in given]
        self.connection.execute(COMPLETE, {"ids": ids, "fences": fences})

    def tell(self, many: int) -> None:
        self.connection.execute(TELL, [self.body, many])

    def counts(self) -> list[tuple[str, bool, int]]:
        return self.connection.execute(COUNT).fetchall()

    def close(self) -> None:
        self.connection.close()


class RawPostgresRuns(RawPostgres):
    """The same queue with a row for each run, and a notification for readers of ordered events."""

    def __init__(self, address: str, body: str, run_body: str) -> None:
        super().__init__(address, body)
        self.connection.execute(RUNS)
        self.run_body = run_body

    def claim(self, workers: int = 1) -> list[Claimed]:
        found = self.connection.execute(START, {"many": workers, "run": self.run_body})
        return [(task, fence, body) for task, fence, body, _ in found]

    def complete(self, claimed: Iterable[Claimed]) -> None:
        given = list(claimed)
        ids, fences = [one[0] for one in given], [one[1] for one in given]
        self.connection.execute(END, {"ids": ids, "fences": fences, "run": self.run_body})
