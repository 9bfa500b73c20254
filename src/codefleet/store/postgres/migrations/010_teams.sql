-- Teams, their members, tokens and invites, and the team that a task belongs to.

CREATE TABLE teams (
    id      text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE members (
    id      text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE tokens (
    place   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text COLLATE "C" NOT NULL UNIQUE,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE invites (
    place   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text COLLATE "C" NOT NULL UNIQUE,
    version bigint NOT NULL,
    body    text NOT NULL
);

CREATE TABLE alerts (
    place      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    settled_at timestamptz GENERATED ALWAYS AS (moment_in(body, 'settled_at')) STORED,
    version    bigint NOT NULL,
    body       text NOT NULL
);
CREATE INDEX alerts_open ON alerts (place) WHERE settled_at IS NULL;

ALTER TABLE tasks ADD COLUMN team text COLLATE "C";
CREATE INDEX tasks_by_team ON tasks (team, priority DESC, place) WHERE team IS NOT NULL;

-- The counts of each team; '' is for tasks without one. No stored task has a team yet.
ALTER TABLE tallies ADD COLUMN team text COLLATE "C" NOT NULL DEFAULT '';

CREATE OR REPLACE FUNCTION tally_added() RETURNS trigger LANGUAGE plpgsql AS $do$
BEGIN
    INSERT INTO tallies (team, state, blocked, many)
    SELECT coalesce(team, ''), state, unmet > 0, count(*) FROM new_rows GROUP BY 1, 2, 3;
    RETURN NULL;
END $do$;

CREATE OR REPLACE FUNCTION tally_removed() RETURNS trigger LANGUAGE plpgsql AS $do$
BEGIN
    INSERT INTO tallies (team, state, blocked, many)
    SELECT coalesce(team, ''), state, unmet > 0, -count(*) FROM old_rows GROUP BY 1, 2, 3;
    RETURN NULL;
END $do$;

CREATE OR REPLACE FUNCTION tally_changed() RETURNS trigger LANGUAGE plpgsql AS $do$
BEGIN
    INSERT INTO tallies (team, state, blocked, many)
    SELECT coalesce(team, ''), state, blocked, sum(many) FROM (
        SELECT team, state, unmet > 0 AS blocked, 1 AS many FROM new_rows
        UNION ALL
        SELECT team, state, unmet > 0, -1 FROM old_rows
    ) AS changed
    GROUP BY 1, 2, 3 HAVING sum(many) <> 0;
    RETURN NULL;
END $do$;
