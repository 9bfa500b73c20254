-- The columns that records are found by are computed from the body by the database itself, as in
-- SQLite: nothing can disagree, and all records are written with the same statements.

-- Immutable, because the times in a body state their zone.
CREATE FUNCTION moment_in(body text, field text) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE AS 'SELECT ($1::json ->> $2)::timestamptz';

ALTER TABLE questions DROP COLUMN task, DROP COLUMN answered_at;
ALTER TABLE questions
    ADD COLUMN task text COLLATE "C" GENERATED ALWAYS AS (body::json ->> 'task') STORED,
    ADD COLUMN answered_at timestamptz
        GENERATED ALWAYS AS (moment_in(body, 'answered_at')) STORED;
CREATE INDEX questions_open ON questions (place) WHERE answered_at IS NULL;
CREATE INDEX questions_by_task ON questions (task);

ALTER TABLE conflicts DROP COLUMN found_at;
ALTER TABLE conflicts ADD COLUMN found_at timestamptz
    GENERATED ALWAYS AS (moment_in(body, 'found_at')) STORED;
CREATE INDEX conflicts_by_time ON conflicts (found_at);

ALTER TABLE messages DROP COLUMN delivered_at;
ALTER TABLE messages ADD COLUMN delivered_at timestamptz
    GENERATED ALWAYS AS (moment_in(body, 'delivered_at')) STORED;
CREATE INDEX messages_open ON messages (place) WHERE delivered_at IS NULL;
