-- A row is its noun's JSON (body). What must be searched is computed from the body by the database
-- itself, so nothing can disagree. Bodies come last, so that reading a column never reads past one.

CREATE TABLE tasks (
    place      INTEGER PRIMARY KEY,  -- rises with every task: the order of age
    id         TEXT NOT NULL UNIQUE,
    unmet      INTEGER NOT NULL CHECK (unmet >= 0),  -- needs that are not completed
    state      TEXT GENERATED ALWAYS AS (json_extract(body, '$.state')) STORED,
    priority   INTEGER GENERATED ALWAYS AS (json_extract(body, '$.priority')) STORED,
    paused     INTEGER GENERATED ALWAYS AS (json_extract(body, '$.paused')) STORED,
    approved   INTEGER GENERATED ALWAYS AS (json_extract(body, '$.approved')) STORED,
    not_before TEXT GENERATED ALWAYS AS (json_extract(body, '$.not_before')) STORED,
    repo       TEXT GENERATED ALWAYS AS (json_extract(body, '$.repo')) STORED,
    coder      TEXT GENERATED ALWAYS AS (json_extract(body, '$.coder')) STORED,
    assignee   TEXT GENERATED ALWAYS AS (json_extract(body, '$.assignee')) STORED,
    scoped     INTEGER GENERATED ALWAYS AS (json_array_length(body, '$.scope') > 0) STORED,
    fence      INTEGER GENERATED ALWAYS AS (json_extract(body, '$.fence')) STORED,
    version    INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body       TEXT NOT NULL
);

-- Blocked tasks are not in it, so a claim costs the same however many of them wait in front.
CREATE INDEX tasks_ready ON tasks (priority DESC, place, not_before, repo, coder, assignee)
    WHERE state = 'pending' AND unmet = 0 AND paused = 0;
CREATE INDEX tasks_resting ON tasks (not_before)
    WHERE state = 'pending' AND unmet = 0 AND paused = 0 AND not_before IS NOT NULL;
CREATE INDEX tasks_by_state ON tasks (state, unmet, priority);

CREATE TABLE needs (
    task TEXT NOT NULL REFERENCES tasks (id),
    need TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task, need)
) WITHOUT ROWID;
CREATE INDEX needs_by_need ON needs (need, task);

-- A run's id begins with its task's: the index of ids also finds all runs of a task.
CREATE TABLE runs (
    place       INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    task        TEXT NOT NULL,
    outcome     TEXT GENERATED ALWAYS AS (json_extract(body, '$.outcome')) STORED,
    ended_at    TEXT GENERATED ALWAYS AS (json_extract(body, '$.ended_at')) STORED,
    lease_until TEXT GENERATED ALWAYS AS (json_extract(body, '$.lease_until')) STORED,
    version     INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body        TEXT NOT NULL
);
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL;
-- One holder: the database itself refuses a second live run of a task. Live runs are few, so this
-- index also serves to look through their leases.
CREATE UNIQUE INDEX runs_live ON runs (task) WHERE outcome IS NULL;

CREATE TABLE questions (
    place       INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    answered_at TEXT GENERATED ALWAYS AS (json_extract(body, '$.answered_at')) STORED,
    version     INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body        TEXT NOT NULL
);
CREATE INDEX questions_open ON questions (place) WHERE answered_at IS NULL;

CREATE TABLE conflicts (
    place    INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    found_at TEXT GENERATED ALWAYS AS (json_extract(body, '$.found_at')) STORED,
    version  INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body     TEXT NOT NULL
);
CREATE INDEX conflicts_by_time ON conflicts (found_at);

CREATE TABLE repos (
    id      TEXT PRIMARY KEY,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE runners (
    id      TEXT PRIMARY KEY,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE lanes (
    id      TEXT PRIMARY KEY,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- A seq is never given twice: it is one more than the newest, and the newest is never deleted.
CREATE TABLE events (
    seq  INTEGER PRIMARY KEY,
    task TEXT GENERATED ALWAYS AS (json_extract(body, '$.task')) STORED,
    kind TEXT GENERATED ALWAYS AS (json_extract(body, '$.kind')) STORED,
    body TEXT NOT NULL
);
CREATE INDEX events_by_task ON events (task, seq) WHERE task IS NOT NULL;
