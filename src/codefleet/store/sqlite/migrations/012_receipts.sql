-- Requests that were carried out, so that a repeated one creates nothing twice.
CREATE TABLE receipts (
    place   INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    at      TEXT GENERATED ALWAYS AS (json_extract(body, '$.at')) STORED,
    version INTEGER GENERATED ALWAYS AS (json_extract(body, '$.version')) STORED,
    body    TEXT NOT NULL
);
CREATE INDEX receipts_by_time ON receipts (at);
