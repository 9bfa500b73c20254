-- Workers, the tasks that have a handle, and swarms of them. The database itself refuses a second
-- unfinished task with the handle of another in its team.
ALTER TABLE tasks ADD COLUMN worker TEXT;
ALTER TABLE tasks ADD COLUMN swarm TEXT;
CREATE UNIQUE INDEX tasks_live_worker ON tasks (worker)
    WHERE worker IS NOT NULL AND state IN ('pending', 'running', 'asking', 'review');
CREATE INDEX tasks_by_worker ON tasks (worker) WHERE worker IS NOT NULL;
CREATE INDEX tasks_by_swarm ON tasks (swarm) WHERE swarm IS NOT NULL;

CREATE TABLE swarms (
    place     INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    killed_at TEXT GENERATED ALWAYS AS (json_extract(body, '$.killed_at')) STORED,
    version   INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body      TEXT NOT NULL
);
CREATE INDEX swarms_open ON swarms (place) WHERE killed_at IS NULL;

CREATE TABLE posts (
    place       INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    swarm       TEXT GENERATED ALWAYS AS (json_extract(body, '$.swarm')) STORED,
    archived_at TEXT GENERATED ALWAYS AS (json_extract(body, '$.archived_at')) STORED,
    version     INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body        TEXT NOT NULL
);
-- A blackboard is read without its archive.
CREATE INDEX posts_open ON posts (swarm, place) WHERE archived_at IS NULL;

ALTER TABLE messages ADD COLUMN recipient TEXT
    GENERATED ALWAYS AS (json_extract(body, '$.to')) VIRTUAL;
CREATE INDEX messages_by_recipient ON messages (recipient) WHERE recipient IS NOT NULL;

CREATE TABLE checkpoints (
    place   INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    task    TEXT GENERATED ALWAYS AS (json_extract(body, '$.task')) STORED,
    reader  TEXT GENERATED ALWAYS AS (
        coalesce(json_extract(body, '$.to'), json_extract(body, '$.author'))
    ) STORED,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
);
CREATE INDEX checkpoints_by_task ON checkpoints (task);
CREATE INDEX checkpoints_by_reader ON checkpoints (reader);

-- Few enough in a repo to be searched by words without an index of words.
CREATE TABLE memories (
    place   INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    repo    TEXT GENERATED ALWAYS AS (json_extract(body, '$.repo')) STORED,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
);
CREATE INDEX memories_by_repo ON memories (repo, place);

CREATE TABLE file_claims (
    id      TEXT PRIMARY KEY,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
) WITHOUT ROWID;
