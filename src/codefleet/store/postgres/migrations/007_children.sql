-- The tasks that agents of a task created, and all that a task asked. A parent never changes, so it is
-- written once, when the task is added.
ALTER TABLE tasks ADD COLUMN parent text COLLATE "C";
UPDATE tasks SET parent = body::json ->> 'parent' WHERE body::json ->> 'parent' IS NOT NULL;
CREATE INDEX tasks_by_parent ON tasks (parent) WHERE parent IS NOT NULL;

ALTER TABLE questions ADD COLUMN task text COLLATE "C";
UPDATE questions SET task = body::json ->> 'task';
ALTER TABLE questions ALTER COLUMN task SET NOT NULL;
CREATE INDEX questions_by_task ON questions (task);
