-- Comments on lines of work in review, and the decision.
CREATE TABLE reviews (
    place      INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    task       TEXT GENERATED ALWAYS AS (json_extract(body, '$.task')) STORED,
    decided_at TEXT GENERATED ALWAYS AS (json_extract(body, '$.decided_at')) STORED,
    version    INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body       TEXT NOT NULL
);
CREATE INDEX reviews_by_task ON reviews (task);
