-- What finds tasks by a word where there are many. It needs FTS5, which some builds of SQLite lack.

-- name: make_index
-- It holds only which words are in which text. `ascii` parts words at spaces and at nothing of ours.
-- It may be there already, and out of date: then it was left to itself by a build without FTS5.
CREATE VIRTUAL TABLE IF NOT EXISTS texts_by_word USING fts5(
    words, content = 'texts', content_rowid = 'place', detail = none, columnsize = 0,
    tokenize = 'ascii'
);
INSERT INTO texts_by_word (texts_by_word) VALUES ('rebuild');
CREATE TABLE IF NOT EXISTS texts_indexed (upto INTEGER NOT NULL);  -- a place: all up to it are in
DELETE FROM texts_indexed;
INSERT INTO texts_indexed SELECT coalesce(max(place), 0) FROM texts;

-- name: keep_index
-- The database itself keeps it, in the same transaction as the words. New texts are gathered and put
-- in together, for a tenth of what it takes to put in one by one; a search reads those not yet in.
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
-- A build without FTS5 could write nothing while these are there.
DROP TRIGGER texts_added;
DROP TRIGGER texts_changed;
DROP TRIGGER texts_removed;

-- name: is_kept
-- An index that no trigger keeps is out of date.
SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = 'texts_added');

-- name: has_fts5
-- Can this build make and keep an index of words?
SELECT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5');
