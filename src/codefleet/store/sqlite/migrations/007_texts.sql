-- The words of each task, kept apart from it: they change when somebody edits what a task says, and
-- not when it is claimed or completed. `mark` tells whether they are still those of the task. What
-- finds a task by its words is in text_index.sql; `mark_of` and `words_of` are ours.

CREATE TABLE texts (
    place INTEGER PRIMARY KEY,  -- that of the task
    mark  INTEGER NOT NULL,
    words TEXT NOT NULL
);
INSERT INTO texts SELECT place, mark_of(body), words_of(body) FROM tasks ORDER BY place;
