-- The columns of tasks, runs and events become plain ones, which rows.py fills from the same noun
-- as the body: to have the database parse each body for each of its columns was half of the cost of
-- a write. A body now is its whole noun, needs included; the edges are what needs are searched by.

CREATE TABLE new_tasks (
    place      INTEGER PRIMARY KEY,  -- rises with every task: the order of age
    id         TEXT NOT NULL UNIQUE,
    unmet      INTEGER NOT NULL CHECK (unmet >= 0),  -- needs that are not completed
    state      TEXT NOT NULL,
    priority   INTEGER NOT NULL,
    paused     INTEGER NOT NULL,
    approved   INTEGER NOT NULL,
    not_before TEXT,
    repo       TEXT NOT NULL,
    coder      TEXT,
    assignee   TEXT,
    scoped     INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    needs      TEXT NOT NULL,
    body       TEXT NOT NULL
);
INSERT INTO new_tasks
SELECT place, id, unmet, state, priority, paused, approved, not_before, repo, coder, assignee,
    scoped, fence, version, edges, json_set(body, '$.needs', json(edges))
FROM (
    SELECT *, (SELECT json_group_array(need) FROM needs WHERE needs.task = tasks.id) AS edges
    FROM tasks
)
ORDER BY place;

CREATE TABLE new_needs (
    task TEXT NOT NULL REFERENCES new_tasks (id),
    need TEXT NOT NULL REFERENCES new_tasks (id),
    PRIMARY KEY (task, need)
) WITHOUT ROWID;
INSERT INTO new_needs SELECT task, need FROM needs;
DROP TABLE needs;
DROP TABLE tasks;
ALTER TABLE new_tasks RENAME TO tasks;
ALTER TABLE new_needs RENAME TO needs;
CREATE INDEX needs_by_need ON needs (need, task);
-- Blocked tasks are not in it, so a claim costs the same however many of them wait in front.
CREATE INDEX tasks_ready ON tasks (priority DESC, place, not_before, repo, coder, assignee)
    WHERE state = 'pending' AND unmet = 0 AND paused = 0;
CREATE INDEX tasks_resting ON tasks (not_before)
    WHERE state = 'pending' AND unmet = 0 AND paused = 0 AND not_before IS NOT NULL;
CREATE INDEX tasks_by_state ON tasks (state, unmet, priority);

CREATE TABLE new_runs (
    place       INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    task        TEXT NOT NULL,
    outcome     TEXT,
    lease_until TEXT NOT NULL,
    version     INTEGER NOT NULL,
    body        TEXT NOT NULL
);
INSERT INTO new_runs
SELECT place, id, task, outcome, lease_until, version, body FROM runs ORDER BY place;
DROP TABLE runs;
ALTER TABLE new_runs RENAME TO runs;
-- One holder: the database itself refuses a second live run of a task. Live runs are few, so this
-- index also serves to look through their leases.
CREATE UNIQUE INDEX runs_live ON runs (task) WHERE outcome IS NULL;

CREATE TABLE new_events (
    seq  INTEGER PRIMARY KEY,
    task TEXT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
INSERT INTO new_events SELECT seq, task, kind, body FROM events ORDER BY seq;
DROP TABLE events;
ALTER TABLE new_events RENAME TO events;
CREATE INDEX events_by_task ON events (task, seq) WHERE task IS NOT NULL;
CREATE INDEX events_used ON events (json_extract(body, '$.at')) WHERE kind = 'run.used';
