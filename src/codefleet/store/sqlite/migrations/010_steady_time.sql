-- A rest that the fleet itself decided on holds only after its beginning: one that begins in the
-- future was written by a clock that has been set right since.
ALTER TABLE tasks ADD COLUMN resting_since TEXT;
DROP INDEX tasks_ready;
CREATE INDEX tasks_ready
    ON tasks (priority DESC, place, not_before, resting_since, repo, coder, assignee)
    WHERE state = 'pending' AND unmet = 0 AND paused = 0;

-- The one row says how the steady time of leases follows from the uptime of the current boot.
CREATE TABLE boot (
    place INTEGER PRIMARY KEY CHECK (place = 1),
    id    TEXT NOT NULL,
    began TEXT NOT NULL
);
