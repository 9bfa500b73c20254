-- What became tasks together. The tasks carry their place in it; it lists their ids.

CREATE TABLE workflows (
    place   INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
);
