-- A row is its noun's JSON (body) beside the columns that it is searched by; both are made from one
-- noun at once, in rows.py. Texts compare by their bytes ("C"), whatever the database speaks.

CREATE TABLE tasks (
    place      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the order of age
    id         text COLLATE "C" NOT NULL UNIQUE,
    unmet      integer NOT NULL CHECK (unmet >= 0),  -- needs that are not completed
    state      text COLLATE "C" NOT NULL,
    priority   smallint NOT NULL,
    paused     boolean NOT NULL,
    approved   boolean NOT NULL,
    not_before timestamptz,
    repo       text COLLATE "C" NOT NULL,
    coder      text COLLATE "C",
    assignee   text COLLATE "C",
    scoped     boolean NOT NULL,
    fence      bigint NOT NULL,
    version    bigint NOT NULL,
    labels     text[] NOT NULL,
    needs      text[] NOT NULL,
    body       text NOT NULL
);

-- Blocked tasks are not in it, so a claim costs the same however many of them wait in front.
CREATE INDEX tasks_ready ON tasks (priority DESC, place)
    WHERE state = 'pending' AND unmet = 0 AND NOT paused;
CREATE INDEX tasks_resting ON tasks (not_before)
    WHERE state = 'pending' AND unmet = 0 AND NOT paused AND not_before IS NOT NULL;
CREATE INDEX tasks_by_state ON tasks (state, unmet, priority);

CREATE TABLE needs (
    task text COLLATE "C" NOT NULL REFERENCES tasks (id),
    need text COLLATE "C" NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task, need)
);
CREATE INDEX needs_by_need ON needs (need, task);

CREATE TABLE runs (
    place       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL UNIQUE,
    task        text COLLATE "C" NOT NULL,
    outcome     text COLLATE "C",
    lease_until timestamptz NOT NULL,
    version     bigint NOT NULL,
    body        text NOT NULL
);
CREATE INDEX runs_by_task ON runs (task);
-- One holder: the database itself refuses a second live run of a task. Live runs are few, so this
-- index also serves to look through their leases.
CREATE UNIQUE INDEX runs_live ON runs (task) WHERE outcome IS NULL;

CREATE TABLE questions (
    place       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL UNIQUE,
    answered_at timestamptz,
    version     bigint NOT NULL,
    body        text NOT NULL
);
CREATE INDEX questions_open ON questions (place) WHERE answered_at IS NULL;

CREATE TABLE conflicts (
    place    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id       text COLLATE "C" NOT NULL UNIQUE,
    found_at timestamptz NOT NULL,
    version  bigint NOT NULL,
    body     text NOT NULL
);
CREATE INDEX conflicts_by_time ON conflicts (found_at);

CREATE TABLE messages (
    place        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           text COLLATE "C" NOT NULL UNIQUE,
    delivered_at timestamptz,
    version      bigint NOT NULL,
    body         text NOT NULL
);
CREATE INDEX messages_open ON messages (place) WHERE delivered_at IS NULL;

CREATE TABLE repos (
    id      text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE runners (
    id      text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE lanes (
    id      text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE rests (
    id      text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE settings (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE events (
    seq  bigint PRIMARY KEY,
    at   timestamptz NOT NULL,
    task text COLLATE "C",
    kind text COLLATE "C" NOT NULL,
    body text NOT NULL
);
CREATE INDEX events_by_task ON events (task, seq) WHERE task IS NOT NULL;
CREATE INDEX events_used ON events (at) WHERE kind = 'run.used';

-- The number of the newest event. Who appends changes this row first and keeps it locked until the
-- commit, so seqs become visible in the order in which they are given, and without gaps.
CREATE TABLE log (
    is_the_only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (is_the_only_row),
    seq             bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO log (seq) VALUES (0);

-- The marks of the last commits, for a writer whose connection broke before it got the answer.
CREATE TABLE commits (
    mark uuid PRIMARY KEY,
    seq  bigint NOT NULL,
    at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX commits_by_age ON commits (at);

-- Rows to lock for what no row of a noun guards. See locks.sql.
CREATE TABLE locks (name text COLLATE "C" PRIMARY KEY);
INSERT INTO locks VALUES ('scopes'), ('needs');

-- The time by which leases are judged: this server's, whatever the machines' clocks say. A test
-- may give another.
CREATE FUNCTION moment(given timestamptz) RETURNS timestamptz
    LANGUAGE sql STABLE AS 'SELECT coalesce($1, statement_timestamp())';

-- Does a text hold a part, which is in small letters? By the rules of all alphabets where the
-- server knows them; a database made with the locale C knows only ASCII otherwise.
DO $do$
BEGIN
    EXECUTE format(
        'CREATE FUNCTION holds(given text, part text) RETURNS boolean LANGUAGE sql STABLE AS '
        '$$SELECT position($2 IN lower($1 %s)) > 0$$',
        CASE WHEN EXISTS (SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu')
            THEN 'COLLATE "und-x-icu"' ELSE '' END
    );
END
$do$;
