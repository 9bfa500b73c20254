-- What only an engine with concurrent writers needs, and what upgrades it, in addition to the
-- statements of queries.sql.

-- name: lock_migrations
-- Whoever opens the database first upgrades it; the others wait, and check now and then whether it
-- is still at work.
SET LOCAL lock_timeout = '3s';
SELECT pg_advisory_xact_lock(hashtext('codefleet'), hashtext(current_schema()));

-- name: has_table
-- In the schema where an unqualified statement would create it.
SELECT EXISTS (
    SELECT 1 FROM pg_class WHERE relname = %(name)s
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
);

-- name: tasks_without_text
-- For a store that is older than the texts. Few at a time: a writer that is silent for seconds
-- counts as frozen.
SELECT place, body FROM tasks
WHERE place > %(after)s AND NOT EXISTS (SELECT 1 FROM texts WHERE texts.place = tasks.place)
ORDER BY place LIMIT 100;

-- name: lock_scopes
-- Of two claims of tasks with scopes, or under caps, the second looks when the first has committed.
SELECT name FROM locks WHERE name = 'scopes' FOR UPDATE;

-- name: lock_needs
-- Two changes of needs could each close half a cycle that neither sees.
SELECT name FROM locks WHERE name = 'needs' FOR UPDATE;

-- name: insist_on
-- The head of a write that must change every one of its rows, or else undo the transaction.
WITH written AS (

-- name: as_assumed
-- What the writer of a task would have checked: it holds the task, which is not completed yet and
-- keeps its needs and its words.
AND tasks.state <> 'completed' AND tasks.needs = row.needs
AND (row.held IS NULL OR tasks.fence = row.held)
AND EXISTS (SELECT 1 FROM texts WHERE texts.place = tasks.place AND texts.mark = row.mark)
RETURNING tasks.id

-- name: all_of_them
-- The end of such a write.
) SELECT insist(count(*) = %(many)s) FROM written

-- name: insist_on_fences
-- For tasks that their writer holds but does not write to.
SELECT insist(count(*) = %(many)s) FROM (
    SELECT FROM tasks
    JOIN unnest(%(ids)s::text[], %(fences)s::text[]) AS held (id, fence)
        ON tasks.id = held.id AND tasks.fence = held.fence::bigint
    ORDER BY tasks.id FOR NO KEY UPDATE OF tasks
) AS held

-- name: hold_both
-- The holder of a row is about to take it or to write to it: others skip it and do not wait.
FOR UPDATE OF task, run SKIP LOCKED

-- name: hold_task
-- The same if there may be no run.
FOR UPDATE OF task SKIP LOCKED

-- name: after_those
-- Those after the ones already read, which may be many: found by place, not by a list.
AND (task.priority < %(priority)s OR (task.priority = %(priority)s AND task.place > %(place)s))

-- name: listen
-- The only thing bound to a connection, so its connection does nothing else.
LISTEN codefleet;

-- name: end_abandoned
-- A writer for whose next statement the server has waited all this time: its machine froze or went
-- away. What it had begun is undone, and it begins again if it comes back.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND application_name = 'codefleet'
    AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL
    AND wait_event_type = 'Client'
    AND greatest(query_start, state_change) < clock_timestamp() - interval '3 seconds';

-- name: to_write
-- For a connection or, through a pool, for one transaction. Writes take milliseconds, so a longer
-- wait means a writer that froze in the middle. Planning one takes longer than running it, so plans
-- are made once, for tables of any size: no sequential scan of a table that is small today and may
-- be large tomorrow.
SELECT set_config('lock_timeout', '3s', %(passing)s),
    set_config('plan_cache_mode', 'force_generic_plan', %(passing)s),
    set_config('enable_seqscan', 'off', %(passing)s),
    set_config('jit', 'off', %(passing)s),
    set_config(
        'synchronous_commit', coalesce(%(commit)s, current_setting('synchronous_commit')), %(passing)s
    );

-- name: nothing
-- Its result shows that everything sent before has been done.
SELECT;

-- name: leave_mark
-- A mark that only this transaction can have left, with the newest seq as of it; where events are
-- added they bring it along.
INSERT INTO commits (mark, seq) SELECT %(mark)s, seq FROM log;

-- name: take_mark
-- For a transaction whose end is unknown; this waits if it is still under way. If the mark was
-- missing, it is there now: should that transaction commit after all, it is undone.
INSERT INTO commits (mark, seq) VALUES (%(mark)s, -1) ON CONFLICT DO NOTHING;

-- name: find_mark
-- The newest seq as of the transaction that left it; -1 if it was taken.
SELECT seq FROM commits WHERE mark = %(mark)s;

-- name: sweep_marks
-- Nobody waits that long for the response to a commit.
DELETE FROM commits WHERE at < now() - interval '1 hour';

-- name: fold_tallies
-- Merge many small rows into one per kind; their sum is the same at every moment.
WITH gone AS (DELETE FROM tallies RETURNING team, state, blocked, many)
INSERT INTO tallies (team, state, blocked, many)
SELECT team, state, blocked, sum(many) FROM gone GROUP BY 1, 2, 3 HAVING sum(many) <> 0;

-- name: server
-- What `fleet doctor` shows about the store.
SELECT current_setting('server_version'), current_setting('server_version_num')::int,
    current_setting('server_encoding');
