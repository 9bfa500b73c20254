-- The words of each task, kept apart from it: they change when somebody edits what a task says, and
-- not when it is claimed or completed. `mark` tells whether they are still those of the task. For
-- tasks that are there already, schema.py puts them in.

CREATE TABLE texts (
    place bigint PRIMARY KEY,  -- that of the task
    mark  bigint NOT NULL,
    words text COLLATE "C" NOT NULL  -- with a space before and behind each
);

-- The words as they are: no language, no stop words, no other idea of what a word is.
CREATE FUNCTION by_word(words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT array_to_tsvector(string_to_array(btrim($1), ' '))$$;

-- New texts wait in a list that a search reads through: a short one, or searches would be slow.
CREATE INDEX texts_by_word ON texts USING gin (by_word(words))
    WITH (fastupdate = on, gin_pending_list_limit = 256);

-- Searches no longer read the bodies.
DROP FUNCTION holds(text, text);
