-- Teams, their members, tokens and invites, and the team that a task belongs to.

CREATE TABLE teams (
    id      TEXT PRIMARY KEY,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE members (
    id      TEXT PRIMARY KEY,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE tokens (
    place   INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
);

CREATE TABLE invites (
    place   INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
);

CREATE TABLE alerts (
    place      INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    settled_at TEXT GENERATED ALWAYS AS (json_extract(body, '$.settled_at')) STORED,
    version    INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body       TEXT NOT NULL
);
CREATE INDEX alerts_open ON alerts (place) WHERE settled_at IS NULL;

-- Without what a claim changes, so that claims do not pay for it.
ALTER TABLE tasks ADD COLUMN team TEXT;
CREATE INDEX tasks_by_team ON tasks (team, priority DESC, place) WHERE team IS NOT NULL;

-- The counts of each team; '' is for tasks without one. No stored task has a team yet.
DROP TRIGGER tasks_added;
DROP TRIGGER tasks_changed;
DROP TRIGGER tasks_removed;
ALTER TABLE tallies RENAME TO old_tallies;
CREATE TABLE tallies (
    team    TEXT NOT NULL,
    state   TEXT NOT NULL,
    blocked INTEGER NOT NULL,
    many    INTEGER NOT NULL CHECK (many >= 0),
    PRIMARY KEY (team, state, blocked)
) WITHOUT ROWID;
INSERT INTO tallies SELECT '', state, blocked, many FROM old_tallies;
DROP TABLE old_tallies;

CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
    INSERT INTO tallies VALUES (coalesce(new.team, ''), new.state, new.unmet > 0, 1)
    ON CONFLICT (team, state, blocked) DO UPDATE SET many = many + 1;
END;
CREATE TRIGGER tasks_changed AFTER UPDATE OF state, unmet, team ON tasks
WHEN old.state <> new.state OR (old.unmet > 0) <> (new.unmet > 0) OR old.team IS NOT new.team BEGIN
    UPDATE tallies SET many = many - 1
    WHERE team = coalesce(old.team, '') AND state = old.state AND blocked = (old.unmet > 0);
    INSERT INTO tallies VALUES (coalesce(new.team, ''), new.state, new.unmet > 0, 1)
    ON CONFLICT (team, state, blocked) DO UPDATE SET many = many + 1;
END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN
    UPDATE tallies SET many = many - 1
    WHERE team = coalesce(old.team, '') AND state = old.state AND blocked = (old.unmet > 0);
END;
