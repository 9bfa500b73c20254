-- The tasks that agents of a task created, and all that a task asked. A parent never changes, so it is
-- written once, when the task is added.
ALTER TABLE tasks ADD COLUMN parent TEXT;
UPDATE tasks SET parent = json_extract(body, '$.parent')
WHERE json_extract(body, '$.parent') IS NOT NULL;
CREATE INDEX tasks_by_parent ON tasks (parent) WHERE parent IS NOT NULL;

ALTER TABLE questions ADD COLUMN task TEXT
    GENERATED ALWAYS AS (json_extract(body, '$.task')) VIRTUAL;
CREATE INDEX questions_by_task ON questions (task);
