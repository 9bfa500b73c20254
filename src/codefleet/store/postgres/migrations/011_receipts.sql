-- Requests that were carried out, so that a repeated one creates nothing twice.
CREATE TABLE receipts (
    place   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text COLLATE "C" NOT NULL UNIQUE,
    version integer NOT NULL,
    body    text NOT NULL,
    at      timestamptz GENERATED ALWAYS AS (moment_in(body, 'at')) STORED
);
CREATE INDEX receipts_by_time ON receipts (at);
