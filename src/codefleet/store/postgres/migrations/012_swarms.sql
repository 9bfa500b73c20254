-- Workers, the tasks that have a handle, and swarms of them. The database itself refuses a second
-- unfinished task with the handle of another in its team.
ALTER TABLE tasks ADD COLUMN worker text COLLATE "C", ADD COLUMN swarm text COLLATE "C";
CREATE UNIQUE INDEX tasks_live_worker ON tasks (worker)
    WHERE worker IS NOT NULL AND state IN ('pending', 'running', 'asking', 'review');
CREATE INDEX tasks_by_worker ON tasks (worker) WHERE worker IS NOT NULL;
CREATE INDEX tasks_by_swarm ON tasks (swarm) WHERE swarm IS NOT NULL;

CREATE TABLE swarms (
    place     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id        text COLLATE "C" NOT NULL UNIQUE,
    killed_at timestamptz GENERATED ALWAYS AS (moment_in(body, 'killed_at')) STORED,
    version   bigint NOT NULL,
    body      text NOT NULL
);
CREATE INDEX swarms_open ON swarms (place) WHERE killed_at IS NULL;

CREATE TABLE posts (
    place       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL UNIQUE,
    swarm       text COLLATE "C" GENERATED ALWAYS AS (body::json ->> 'swarm') STORED,
    archived_at timestamptz GENERATED ALWAYS AS (moment_in(body, 'archived_at')) STORED,
    version     bigint NOT NULL,
    body        text NOT NULL
);
-- A blackboard is read without its archive.
CREATE INDEX posts_open ON posts (swarm, place) WHERE archived_at IS NULL;

ALTER TABLE messages ADD COLUMN recipient text COLLATE "C"
    GENERATED ALWAYS AS (body::json ->> 'to') STORED;
CREATE INDEX messages_by_recipient ON messages (recipient) WHERE recipient IS NOT NULL;

CREATE TABLE checkpoints (
    place   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text COLLATE "C" NOT NULL UNIQUE,
    task    text COLLATE "C" GENERATED ALWAYS AS (body::json ->> 'task') STORED,
    reader  text COLLATE "C" GENERATED ALWAYS AS (
        coalesce(body::json ->> 'to', body::json ->> 'author')
    ) STORED,
    version bigint NOT NULL,
    body    text NOT NULL
);
CREATE INDEX checkpoints_by_task ON checkpoints (task);
CREATE INDEX checkpoints_by_reader ON checkpoints (reader);

-- Few enough in a repo to be searched by words without an index of words.
CREATE TABLE memories (
    place   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text COLLATE "C" NOT NULL UNIQUE,
    repo    text COLLATE "C" GENERATED ALWAYS AS (body::json ->> 'repo') STORED,
    version bigint NOT NULL,
    body    text NOT NULL
);
CREATE INDEX memories_by_repo ON memories (repo, place);

CREATE TABLE file_claims (
    id      text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text NOT NULL
);
