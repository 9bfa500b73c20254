-- The index of words is kept in another way from here on. Without these triggers it counts as out of
-- date: whoever opens the store makes it anew, with those of today. See text_index.sql.

DROP TRIGGER IF EXISTS texts_added;
DROP TRIGGER IF EXISTS texts_changed;
DROP TRIGGER IF EXISTS texts_removed;
