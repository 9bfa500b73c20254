-- What only an engine with many writers at a time needs, and what brings it up to date, besides the
-- statements of queries.sql.

-- name: lock_migrations
-- Whoever opens the database first brings it up to date; the others wait, and look now and then
-- whether it is still at work.
SET LOCAL lock_timeout = '3s';
SELECT pg_advisory_xact_lock(hashtext('codefleet'), hashtext(current_schema()));

-- name: has_table
-- Where a statement without the name of a schema would make it.
SELECT EXISTS (
    SELECT 1 FROM pg_class WHERE relname = %(name)s
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
);

-- name: tasks_without_text
-- For a store that was made before there were texts. Few at a time: whoever says nothing for
-- seconds counts as frozen.
SELECT place, body FROM tasks
WHERE place > %(after)s AND NOT EXISTS (SELECT 1 FROM texts WHERE texts.place = tasks.place)
ORDER BY place LIMIT 100;

-- name: lock_scopes
-- Of two that would start tasks with scopes, or under caps, the second looks when the first has
-- committed.
SELECT name FROM locks WHERE name = 'scopes' FOR UPDATE;

-- name: lock_needs
-- Two changes of needs could each close half a circle that neither sees.
SELECT name FROM locks WHERE name = 'needs' FOR UPDATE;

-- name: insist_on
-- The head of a write that must change every one of its rows, or else undoes the transaction.
WITH written AS (

-- name: as_assumed
-- What the writer of a task would have looked for: it holds the task, which is not completed yet and
-- keeps its needs and its words.
AND tasks.state <> 'completed' AND tasks.needs = row.needs
AND (row.held IS NULL OR tasks.fence = row.held)
AND EXISTS (SELECT 1 FROM texts WHERE texts.place = tasks.place AND texts.mark = row.mark)
RETURNING tasks.id

-- name: all_of_them
-- The end of such a write.
) SELECT insist(count(*) = %(many)s) FROM written

-- name: insist_on_fences
-- For tasks that their writer holds and does not write to.
SELECT insist(count(*) = %(many)s) FROM (
    SELECT FROM tasks
    JOIN unnest(%(ids)s::text[], %(fences)s::text[]) AS held (id, fence)
        ON tasks.id = held.id AND tasks.fence = held.fence::bigint
    ORDER BY tasks.id FOR NO KEY UPDATE OF tasks
) AS held

-- name: hold_both
-- Who holds a row is about to take it or to write to it: others pass it by and wait for nobody.
FOR UPDATE OF task, run SKIP LOCKED

-- name: hold_task
-- The same where there may be no run.
FOR UPDATE OF task SKIP LOCKED

-- name: after_those
-- The next ones after those that were looked at, which may be many: their place tells, not a list.
AND (task.priority < %(priority)s OR (task.priority = %(priority)s AND task.place > %(place)s))

-- name: listen
-- The one thing that lives as long as a connection, so its connection does nothing else.
LISTEN codefleet;

-- name: end_abandoned
-- A writer whose next word the server has waited for all this time: its machine froze or went away.
-- What it had begun is undone, and it begins again should it come back.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND application_name = 'codefleet'
    AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL
    AND wait_event_type = 'Client'
    AND greatest(query_start, state_change) < clock_timestamp() - interval '3 seconds';

-- name: to_write
-- For a connection, or through a pool for a transaction only. Writes take milliseconds, so that who
-- waits for longer waits for a writer that froze in the middle. To plan one takes longer than to make
-- it, so plans are made once, for tables of any size: what is small today is not searched through,
-- and may be large tomorrow.
SELECT set_config('lock_timeout', '3s', %(passing)s),
    set_config('plan_cache_mode', 'force_generic_plan', %(passing)s),
    set_config('enable_seqscan', 'off', %(passing)s),
    set_config('jit', 'off', %(passing)s),
    set_config(
        'synchronous_commit', coalesce(%(commit)s, current_setting('synchronous_commit')), %(passing)s
    );

-- name: nothing
-- Its answer tells that all that was sent before has been done.
SELECT;

-- name: leave_mark
-- What only this transaction can have left, and the newest seq as of it; where events are added they
-- bring it along.
INSERT INTO commits (mark, seq) SELECT %(mark)s, seq FROM log;

-- name: take_mark
-- Of a transaction whose end is unknown; this waits for one that is still under way. Where the mark
-- was not there it is now: should that transaction come after all, it finds it taken and is undone.
INSERT INTO commits (mark, seq) VALUES (%(mark)s, -1) ON CONFLICT DO NOTHING;

-- name: find_mark
-- The newest seq as of the transaction that left it; -1 where it was taken.
SELECT seq FROM commits WHERE mark = %(mark)s;

-- name: sweep_marks
-- Nobody waits for the answer to a commit for as long.
DELETE FROM commits WHERE at < now() - interval '1 hour';

-- name: fold_tallies
-- Many small rows become one for each kind; their sum is the same at every moment.
WITH gone AS (DELETE FROM tallies RETURNING state, blocked, many)
INSERT INTO tallies
SELECT state, blocked, sum(many) FROM gone GROUP BY state, blocked HAVING sum(many) <> 0;

-- name: server
-- What `fleet doctor` says of the store.
SELECT current_setting('server_version'), current_setting('server_version_num')::int,
    current_setting('server_encoding');
