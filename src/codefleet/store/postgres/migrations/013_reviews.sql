-- Comments on lines of work in review, and the decision.
CREATE TABLE reviews (
    place      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    task       text COLLATE "C" GENERATED ALWAYS AS (body::json ->> 'task') STORED,
    decided_at timestamptz GENERATED ALWAYS AS (moment_in(body, 'decided_at')) STORED,
    version    bigint NOT NULL,
    body       text NOT NULL
);
CREATE INDEX reviews_by_task ON reviews (task);
