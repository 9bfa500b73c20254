-- What finds tasks by a word if there are many. It needs FTS5, which some builds of SQLite lack.

-- name: make_index
-- It stores only which words are in which text. `ascii` splits our texts only at spaces.
-- It may exist already and be out of date, if a build without FTS5 has abandoned it.
CREATE VIRTUAL TABLE IF NOT EXISTS texts_by_word USING fts5(
    words, content = 'texts', content_rowid = 'place', detail = none, columnsize = 0,
    tokenize = 'ascii'
);
INSERT INTO texts_by_word (texts_by_word) VALUES ('rebuild');
CREATE TABLE IF NOT EXISTS texts_indexed (upto INTEGER NOT NULL);  -- a place: all up to it are in
DELETE FROM texts_indexed;
INSERT INTO texts_indexed SELECT coalesce(max(place), 0) FROM texts;

-- name: keep_index
-- The database itself maintains it, in the same transaction as the words. New texts are collected
-- and added together, at a tenth of the cost of adding each; a search also reads those not yet in.
CREATE TRIGGER texts_added AFTER INSERT ON texts
WHEN new.place NOT BETWEEN (SELECT upto + 1 FROM texts_indexed)
    AND (SELECT upto + 255 FROM texts_indexed) BEGIN
    INSERT INTO texts_by_word (rowid, words) SELECT place, words FROM texts
    WHERE place = new.place OR place > (SELECT upto FROM texts_indexed);
    UPDATE texts_indexed SET upto = (SELECT max(place) FROM texts);
END;
CREATE TRIGGER texts_changed AFTER UPDATE OF words ON texts
WHEN old.place <= (SELECT upto FROM texts_indexed) BEGIN
    INSERT INTO texts_by_word (texts_by_word, rowid, words)
    VALUES ('delete', old.place, old.words);
    INSERT INTO texts_by_word (rowid, words) VALUES (new.place, new.words);
END;
CREATE TRIGGER texts_removed AFTER DELETE ON texts
WHEN old.place <= (SELECT upto FROM texts_indexed) BEGIN
    INSERT INTO texts_by_word (texts_by_word, rowid, words)
    VALUES ('delete', old.place, old.words);
END;

-- name: leave_index
-- A build without FTS5 cannot write anything while these exist.
DROP TRIGGER texts_added;
DROP TRIGGER texts_changed;
DROP TRIGGER texts_removed;

-- name: is_kept
-- An index that no trigger maintains is out of date.
SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = 'texts_added');

-- name: has_fts5
-- Can this build make and maintain an index of words?
SELECT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5');
