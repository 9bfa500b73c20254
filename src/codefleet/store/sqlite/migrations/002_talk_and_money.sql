-- What humans say to agents, which accounts rest, and a quick way to the events about money.

CREATE TABLE messages (
    place        INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    delivered_at TEXT GENERATED ALWAYS AS (json_extract(body, '$.delivered_at')) STORED,
    version      INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body         TEXT NOT NULL
);
CREATE INDEX messages_open ON messages (place) WHERE delivered_at IS NULL;

CREATE TABLE rests (
    id      TEXT PRIMARY KEY,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX events_used ON events (json_extract(body, '$.at')) WHERE kind = 'run.used';
