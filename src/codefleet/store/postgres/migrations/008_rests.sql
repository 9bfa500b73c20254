-- A rest that the fleet itself decided on holds only after its beginning: one that begins in the
-- future was written by a clock that has been set right since.
ALTER TABLE tasks ADD COLUMN resting_since timestamptz;
