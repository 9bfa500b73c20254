-- Every statement the store sends, with the names and the order of the other engines' files. Rows to
-- write come as one JSON list; a single row as plain values instead, see transaction.py.

-- name: add_task
-- The caller has checked that the id is free; `unmet` counts the needs that are not completed.
INSERT INTO tasks (
    id, unmet, state, priority, paused, approved, not_before, resting_since, repo, coder,
    assignee, scoped, fence, version, labels, needs, body, parent, team, worker, swarm
)
SELECT id, unmet, state, priority, paused, approved, not_before, resting_since, repo, coder,
    assignee, scoped, fence, version, labels, needs, body, parent, team, worker, swarm
FROM json_to_recordset(%(rows)s) AS row (
    number int, id text, unmet int, state text, priority int, paused bool, approved bool,
    not_before timestamptz, resting_since timestamptz, repo text, coder text, assignee text,
    scoped bool, fence bigint, version bigint, labels text[], needs text[], body text,
    parent text, team text, worker text, swarm text
) ORDER BY number;

-- name: put_text
-- The words that a task is found by. Rarely written, so that claims do not pay for searches.
INSERT INTO texts (place, mark, words)
SELECT tasks.place, row.mark, row.words
FROM json_to_recordset(%(rows)s) AS row (id text, mark bigint, words text)
JOIN tasks ON tasks.id = row.id AND tasks.id = ANY (%(ids)s)
ON CONFLICT (place) DO UPDATE SET mark = excluded.mark, words = excluded.words;

-- name: save_task
-- The caller holds the rows' locks and has compared versions and fences, or assumes them. The ids are
-- passed as well for the planner, which cannot estimate the length of a JSON list.
UPDATE tasks SET state = row.state, priority = row.priority, paused = row.paused,
    approved = row.approved, not_before = row.not_before, resting_since = row.resting_since,
    repo = row.repo, coder = row.coder, assignee = row.assignee, scoped = row.scoped,
    fence = row.fence, version = row.version, labels = row.labels, body = row.body,
    team = row.team, worker = row.worker, swarm = row.swarm
FROM json_to_recordset(%(rows)s) AS row (
    id text, state text, priority int, paused bool, approved bool, not_before timestamptz,
    resting_since timestamptz, repo text, coder text, assignee text, scoped bool, fence bigint,
    version bigint, labels text[], needs text[], body text, team text, worker text, swarm text,
    held bigint, mark bigint
)
WHERE tasks.id = ANY (%(ids)s) AND tasks.id = row.id AND tasks.version = row.version - 1

-- name: set_needs
-- The rest of the row is saved by the statement above.
UPDATE tasks SET needs = row.needs
FROM json_to_recordset(%(rows)s) AS row (id text, needs text[])
WHERE tasks.id = ANY (%(ids)s) AND tasks.id = row.id;

-- name: unblock
-- For tasks that have just been completed: the holder of their rows sees every edge to them. In the
-- order of ids, so that two of these do not deadlock.
WITH less AS (
    SELECT task, count(*) AS many FROM needs WHERE need = ANY (%(ids)s) GROUP BY task
), held AS (
    SELECT id FROM tasks WHERE id = ANY (ARRAY(SELECT task FROM less))
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE tasks SET unmet = unmet - less.many FROM less
WHERE tasks.id = ANY (ARRAY(SELECT id FROM held)) AND tasks.id = less.task;

-- name: fence_of
-- What shows that a writer is late; locked from here on, in the order of ids.
SELECT id, version, fence, state, needs, mark
FROM tasks AS task LEFT JOIN texts ON texts.place = task.place WHERE id = ANY (%(ids)s)
ORDER BY id FOR NO KEY UPDATE OF task;

-- name: states_of
-- One query answers three questions about a batch: what is taken, what is missing, what is met. The
-- lock keeps a need from being completed before its new edge is stored.
SELECT id, state FROM tasks WHERE id = ANY (%(ids)s) ORDER BY id FOR SHARE;

-- name: live_workers
-- The unfinished tasks that already have some of these handles.
SELECT worker, id FROM tasks
WHERE worker = ANY (%(workers)s) AND state IN ('pending', 'running', 'asking', 'review');

-- name: add_need
-- An edge from a task to what it needs.
INSERT INTO needs (task, need) SELECT * FROM unnest(%(tasks)s::text[], %(needs)s::text[]);

-- name: drop_needs
-- A task's needs are replaced as a whole.
DELETE FROM needs WHERE task = ANY (%(ids)s);

-- name: recount
-- After a task's needs changed.
UPDATE tasks SET unmet = (
    SELECT count(*) FROM needs JOIN tasks AS need ON need.id = needs.need
    WHERE needs.task = tasks.id AND need.state <> 'completed'
) WHERE id = ANY (%(ids)s);

-- name: needs_above
-- The part of the graph in which a changed need could close a cycle.
WITH RECURSIVE above (id) AS (
    SELECT unnest(%(ids)s::text[]) COLLATE "C"
    UNION
    SELECT needs.need FROM needs JOIN above ON needs.task = above.id
)
SELECT needs.task, needs.need FROM needs JOIN above ON needs.task = above.id;

-- name: add_run
-- A second live run of a task is refused by an index.
INSERT INTO runs (id, task, outcome, lease_until, version, body)
SELECT id, task, outcome, lease_until, version, body
FROM json_to_recordset(%(rows)s) AS row (
    number int, id text, task text, outcome text, lease_until timestamptz, version bigint, body text
) ORDER BY number;

-- name: save_run
-- Returns the changed rows: none if someone else was first.
UPDATE runs SET outcome = row.outcome, lease_until = row.lease_until, version = row.version,
    body = row.body
FROM json_to_recordset(%(rows)s) AS row (
    id text, outcome text, lease_until timestamptz, version bigint, body text
)
WHERE runs.id = ANY (%(ids)s) AND runs.id = row.id AND runs.version = row.version - 1
RETURNING runs.id;

-- name: add_{noun}
-- A record added twice is stored once. From here to the settings: a statement for each record of
-- nouns.py.
INSERT INTO {nouns} (id, version, body)
SELECT id, version, body
FROM json_to_recordset(%(rows)s) AS row (number int, id text, version bigint, body text)
ORDER BY number ON CONFLICT DO NOTHING RETURNING id;

-- name: save_{noun}
-- Returns the changed rows: none if someone else was first.
UPDATE {nouns} SET version = row.version, body = row.body
FROM json_to_recordset(%(rows)s) AS row (id text, version bigint, body text)
WHERE {nouns}.id = row.id AND {nouns}.version = row.version - 1 RETURNING {nouns}.id;

-- name: remove_{noun}
-- Whatever its version.
DELETE FROM {nouns} WHERE id = %(id)s;

-- name: set_setting
-- The last write wins.
INSERT INTO settings (name, value) VALUES (%(name)s, %(value)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: drop_setting
-- A missing setting has its default.
DELETE FROM settings WHERE name = %(name)s;

-- name: add_event
-- The row of `log` stays locked until the commit: the next writer's seqs become visible after these.
-- The commit's mark and the notification are included to save round trips; see locks.sql.
WITH last AS (UPDATE log SET seq = seq + %(many)s RETURNING seq), told AS (
    INSERT INTO events (seq, at, task, kind, body)
    SELECT last.seq - %(many)s + number, at, task, kind, body
    FROM last, json_to_recordset(%(rows)s) AS row (
        number int, at timestamptz, task text, kind text, body text
    )
), mark AS (INSERT INTO commits (mark, seq) SELECT %(mark)s, seq FROM last)
SELECT seq, pg_notify('codefleet', '') FROM last;

-- name: add_event_at
-- An imported event keeps its seq, above all that this store has assigned before.
WITH told AS (
    INSERT INTO events (seq, at, task, kind, body) SELECT seq, at, task, kind, body
    FROM json_to_recordset(%(rows)s) AS row (
        seq bigint, at timestamptz, task text, kind text, body text
    ) RETURNING seq
)
UPDATE log SET seq = greatest(log.seq, (SELECT max(seq) FROM told)) RETURNING seq;

-- name: forget_event
-- The newest stays, as in every store, and so do the events that bills are computed from.
DELETE FROM events USING json_to_recordset(%(rows)s) AS row (seq bigint, task text, kind text)
WHERE events.seq = row.seq AND events.task = row.task AND events.kind = row.kind
    AND events.kind <> 'run.used' AND events.seq < (SELECT seq FROM log)
    AND EXISTS (
        SELECT 1 FROM tasks
        WHERE id = row.task AND state IN ('completed', 'failed', 'cancelled')
    )
RETURNING events.seq;

-- name: some_expired
-- A cheap check before the expensive one, since mostly no lease has expired; and the time.
SELECT moment(%(now)s), EXISTS (
    SELECT 1 FROM runs WHERE outcome IS NULL AND lease_until <= moment(%(now)s)
);

-- name: expired
-- Tasks whose holder went away, so that their leases expired. They come before all others.
SELECT task.body, run.body, task.priority, task.place
FROM runs AS run JOIN tasks AS task ON task.id = run.task
WHERE run.outcome IS NULL AND run.lease_until <= %(now)s AND task.state = 'running'
    AND NOT task.paused

-- name: ready
-- A task that was cancelled and retried waits until its earlier run has ended or expired.
SELECT task.body, run.body, task.priority, task.place
FROM tasks AS task
LEFT JOIN runs AS run ON run.task = task.id AND run.outcome IS NULL
WHERE task.state = 'pending' AND task.unmet = 0 AND NOT task.paused
    AND (task.not_before IS NULL OR task.not_before <= moment(%(now)s)
        OR task.resting_since > moment(%(now)s))
    AND (run.id IS NULL OR run.lease_until <= moment(%(now)s))

-- name: ready_among
-- The same for a claim limited to certain tasks: found by id, however long the queue is.
SELECT task.body, run.body, task.priority, task.place
FROM tasks AS task
LEFT JOIN runs AS run ON run.task = task.id AND run.outcome IS NULL
WHERE task.state = 'pending' AND task.unmet = 0 AND NOT task.paused
    AND (task.not_before IS NULL OR task.not_before <= moment(%(now)s)
        OR task.resting_since > moment(%(now)s))
    AND (run.id IS NULL OR run.lease_until <= moment(%(now)s))

-- name: unless_paused
-- While the whole fleet is paused, nothing starts.
AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'paused')

-- name: for_seats
-- A task with an assignee goes only to that seat.
AND (task.assignee IS NULL OR task.assignee = ANY (%(seats)s))

-- name: for_coders
-- A task that names no coder is for any.
AND (task.coder IS NULL OR task.coder = ANY (%(coders)s))

-- name: for_repos
-- A runner may serve only some repos.
AND task.repo = ANY (%(repos)s)

-- name: for_labels
-- A task must have every requested label.
AND task.labels @> %(labels)s::text[]

-- name: unless_resting
-- A task whose coder rests in its repo waits; one that names no coder counts for the default.
AND task.repo || ' ' || coalesce(task.coder, '') <> ALL (%(resting)s)

-- name: unless_full
-- Nothing starts where a cap is reached. Written so that the planner expects it to exclude few: it
-- assumes that `<> ALL` excludes everything if all tasks are of one repo, and would read them all.
AND NOT ARRAY[task.repo] <@ %(full_repos)s::text[]
AND NOT ARRAY[coalesce(nullif(task.coder, ''), %(coder)s)] <@ %(full_coders)s::text[]

-- name: unless_swarm_is_full
-- A task of a swarm starts only while that swarm has places left, and never after it was killed. Only
-- a first look, which spares the others; the places are counted again under the lock. Written so
-- that the planner expects it to exclude few.
AND NOT ARRAY[task.swarm] <@ ARRAY(
    SELECT swarm.id FROM swarms AS swarm
    WHERE swarm.killed_at IS NOT NULL OR (swarm.body::json ->> 'max_agents')::int <= (
        SELECT count(*) FROM runs AS run JOIN tasks AS other ON other.id = run.task
        WHERE run.outcome IS NULL AND run.lease_until > moment(%(now)s)
            AND other.swarm = swarm.id
    )
)

-- name: for_tasks
-- A runner may serve only certain tasks.
AND task.id = ANY (%(tasks)s)

-- name: busy
-- What holds files: what runs now, and what is about to land. A task started in between would start
-- from a trunk without that work and collide with it.
SELECT task.body FROM tasks AS task
LEFT JOIN runs AS run ON run.task = task.id AND run.outcome IS NULL
WHERE task.state IN ('running', 'review') AND task.scoped
    AND (run.lease_until > %(now)s OR (task.state = 'review' AND task.approved));

-- name: at_work
-- What counts towards caps. A run whose lease expired waits to be claimed itself.
SELECT task.repo, run.body::json ->> 'host', run.body::json ->> 'coder'
FROM runs AS run JOIN tasks AS task ON task.id = run.task
WHERE run.outcome IS NULL AND run.lease_until > moment(%(now)s);

-- name: swarm_places
-- How many more agents each swarm may have at work; counted like those under caps.
SELECT swarm.id, (swarm.body::json ->> 'max_agents')::int - (
    SELECT count(*) FROM runs AS run JOIN tasks AS task ON task.id = run.task
    WHERE run.outcome IS NULL AND run.lease_until > moment(%(now)s) AND task.swarm = swarm.id
)
FROM swarms AS swarm WHERE swarm.killed_at IS NULL;

-- name: next_start
-- When time alone changes what may be claimed: a rest or a lease ends.
SELECT (
    SELECT min(not_before) FROM tasks
    WHERE state = 'pending' AND unmet = 0 AND NOT paused AND not_before > moment(%(now)s)
        AND coalesce(resting_since <= moment(%(now)s), TRUE)
), (
    SELECT min(lease_until) FROM runs WHERE outcome IS NULL AND lease_until > moment(%(now)s)
);

-- name: tasks
-- The head of every query for tasks; filters, an order and the same order again follow. Choose
-- first and then read, so that tasks that are only sorted are not read from the table.
SELECT task.body FROM tasks AS task
WHERE task.place IN (SELECT task.place FROM tasks AS task WHERE TRUE

-- name: ready_tasks
-- The same head for those that are ready.
SELECT task.body FROM tasks AS task
WHERE task.place IN (SELECT task.place FROM tasks AS task WHERE TRUE

-- name: found_tasks
-- The head of a search for tasks that have all of some words. An array, so that the planner reads
-- tasks by the places in it and does not scan all of them.
SELECT task.body FROM tasks AS task
WHERE task.place IN (SELECT task.place FROM tasks AS task WHERE task.place = ANY (ARRAY(
    SELECT texts.place FROM texts WHERE (
        SELECT bool_and(position(word IN texts.words) > 0) FROM unnest(%(words)s::text[]) AS word
    )

-- name: by_rarest
-- The rarest word finds the texts, and the others are searched in them: joining two long lists would
-- take longer.
AND by_word(texts.words) @@ %(rarest)s::tsquery

-- name: that_fit
-- The filters of other queries follow.
))

-- name: look_through
-- The head of a look at single tasks: which of the words each has, and whether it passes the
-- filters, which follow; then which tasks.
SELECT task.id,
    (SELECT string_agg((position(word IN texts.words) > 0)::int::text, '' ORDER BY number)
    FROM texts CROSS JOIN unnest(%(words)s::text[]) WITH ORDINALITY AS asked (word, number)
    WHERE texts.place = task.place),
    (TRUE

-- name: the_most_urgent
-- The first of each state, in the order of an index, and of these the first again. The limits force
-- this plan, whatever the planner knows about the tables.
) FROM (
    SELECT first.place FROM unnest(%(among)s::text[]) AS asked (state) CROSS JOIN LATERAL (
        SELECT tasks.priority, tasks.place FROM tasks WHERE tasks.state = asked.state
        ORDER BY tasks.priority DESC, tasks.place LIMIT %(looked)s
    ) AS first
    ORDER BY first.priority DESC, first.place LIMIT %(looked)s
) AS first
CROSS JOIN LATERAL (SELECT * FROM tasks WHERE tasks.place = first.place LIMIT 1) AS task
ORDER BY task.priority DESC, task.place

-- name: the_newest
-- The last ones added, of any state.
) FROM (SELECT * FROM tasks ORDER BY place DESC LIMIT %(looked)s) AS task
ORDER BY task.place DESC

-- name: with_ids
-- For tasks named by their ids.
AND task.id = ANY (%(ids)s)

-- name: with_parents
-- For the tasks that agents of these tasks created.
AND task.parent = ANY (%(parents)s)

-- name: with_handle
-- For the tasks of a worker, of whatever team: its name continues with a slash, which `0` follows.
AND task.worker >= %(handle)s || '/' AND task.worker < %(handle)s || '0'

-- name: that_are_workers
-- For tasks that have a handle.
AND task.worker IS NOT NULL

-- name: in_swarm
-- For the tasks of a swarm.
AND task.swarm = %(swarm)s

-- name: in_state
-- For tasks in one state, for which an index has this order.
AND task.state = %(state)s

-- name: in_states
-- For tasks in any of some states.
AND task.state = ANY (%(states)s)

-- name: in_repo
-- For tasks of one repo.
AND task.repo = %(repo)s

-- name: with_label
-- For tasks with a label.
AND %(label)s = ANY (task.labels)

-- name: in_team
-- For tasks of one team.
AND task.team = %(team)s

-- name: in_no_team
-- For tasks without one.
AND task.team IS NULL

-- name: that_are_ready
-- For tasks that wait only for a free seat or for another's scope.
AND task.state = 'pending' AND task.unmet = 0 AND NOT task.paused
AND (task.not_before IS NULL OR task.not_before <= moment(%(now)s)
    OR task.resting_since > moment(%(now)s))

-- name: less_urgent_than
-- The rest of a list in the order of urgency, after a task that a reader has seen.
AND (-task.priority, task.place) > (SELECT -priority, place FROM tasks WHERE id = %(after)s)

-- name: older_than
-- The same in the order of age, newest first.
AND task.place < (SELECT place FROM tasks WHERE id = %(after)s)

-- name: most_urgent_first
-- Urgency is priority, then age. No limit is written as NULL.
ORDER BY task.priority DESC, task.place LIMIT %(limit)s

-- name: chosen_by_urgency
-- The end of a query for tasks.
) ORDER BY task.priority DESC, task.place

-- name: chosen_by_age
-- The end of a query for tasks, the newest first.
) ORDER BY task.place DESC

-- name: newest_first
-- For people who look for what they just added.
ORDER BY task.place DESC LIMIT %(limit)s

-- name: all_tasks
-- For an export, in the order of age, so that an import keeps it.
SELECT task.body FROM tasks AS task ORDER BY task.place;

-- name: unmet
-- What some tasks still wait for.
SELECT needs.task, task.body
FROM needs JOIN tasks AS task ON task.id = needs.need
WHERE needs.task = ANY (%(ids)s) AND task.state <> 'completed'
    AND (%(team)s::text IS NULL OR coalesce(task.team, '') = %(team)s)
ORDER BY needs.task, task.place;

-- name: needed_by
-- The tasks that wait for one.
SELECT task FROM needs
WHERE need = %(id)s AND (%(team)s::text IS NULL OR EXISTS (
    SELECT 1 FROM tasks WHERE id = needs.task AND coalesce(team, '') = %(team)s
))
ORDER BY task;

-- name: matching
-- A range and not LIKE, so that the index is used and no character of a prefix is special.
SELECT id FROM tasks
WHERE id >= %(prefix)s AND id < %(end)s AND (%(team)s::text IS NULL OR coalesce(team, '') = %(team)s)
ORDER BY id LIMIT 3;

-- name: counts
-- Maintained by triggers, to avoid counting the tasks.
SELECT CASE WHEN state = 'pending' AND blocked THEN 'blocked' ELSE state END, sum(many)::bigint
FROM tallies WHERE %(team)s::text IS NULL OR team = %(team)s GROUP BY 1 HAVING sum(many) > 0;

-- name: runs
-- The head of every query for runs; filters and an order follow.
SELECT body FROM runs WHERE TRUE

-- name: runs_with_ids
-- For runs named by their ids.
AND id = ANY (%(ids)s)

-- name: runs_of_tasks
-- For all attempts at some tasks.
AND task = ANY (%(tasks)s)

-- name: runs_that_live
-- A run without an outcome has not ended.
AND outcome IS NULL

-- name: runs_during
-- For what was at work in a period.
AND (body::json ->> 'started_at')::timestamptz < %(until)s
AND coalesce((body::json ->> 'ended_at')::timestamptz, 'infinity') >= %(since)s

-- name: runs_in_team
-- For runs of one team's tasks.
AND EXISTS (
    SELECT 1 FROM tasks WHERE tasks.id = runs.task AND coalesce(tasks.team, '') = %(team)s
)

-- name: oldest_run_first
-- The order in which they started.
ORDER BY place

-- name: spent
-- A bill, grouped only by what was asked for. An index has just these events, by time.
-- Sums are capped, since an agent may report any number any number of times.
SELECT CASE WHEN %(by_day)s THEN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') ELSE '' END,
    CASE WHEN %(by_coder)s THEN coalesce(data ->> 'coder', '') ELSE '' END,
    CASE WHEN %(by_model)s THEN coalesce(data ->> 'model', '') ELSE '' END,
    CASE WHEN %(by_repo)s THEN coalesce(data ->> 'repo', '') ELSE '' END,
    CASE WHEN %(by_task)s THEN coalesce(task, '') ELSE '' END,
    CASE WHEN %(by_source)s THEN coalesce(data ->> 'source', '') ELSE '' END,
    least(coalesce(sum((data ->> 'input_tokens')::numeric), 0), 9007199254740991)::bigint,
    least(coalesce(sum((data ->> 'output_tokens')::numeric), 0), 9007199254740991)::bigint,
    least(coalesce(sum((data ->> 'cached_tokens')::numeric), 0), 9007199254740991)::bigint,
    coalesce(sum((data ->> 'cost_usd')::float8), 0.0)
FROM (
    SELECT at, task, body::jsonb -> 'data' AS data FROM events
    WHERE kind = 'run.used' AND at >= %(since)s
        AND at < coalesce(%(until)s::timestamptz, 'infinity')
        AND (%(team)s::text IS NULL OR EXISTS (
            SELECT 1 FROM tasks
            WHERE tasks.id = events.task AND coalesce(tasks.team, '') = %(team)s
        ))
) AS used
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6;

-- name: {nouns}
-- The head of every query for records; filters and an order follow.
SELECT body FROM {nouns} WHERE TRUE

-- name: {nouns}_with_ids
-- For records named by their keys.
AND id = ANY (%(ids)s)

-- name: {nouns}_of_tasks
-- For those that belong to some tasks.
AND {task} = ANY (%(tasks)s)

-- name: {nouns}_of
-- For those that belong to some swarms, handles or repos.
AND {owner} = ANY (%(of)s)

-- name: {nouns}_that_are_open
-- What nobody has dealt with yet.
AND {closed} IS NULL

-- name: {nouns}_since
-- From a given time on.
AND {began} >= %(since)s

-- name: {nouns}_in_team
-- Each noun has at most one of these ways to belong to a team. This one says so itself.
AND coalesce(body::json ->> '{team_in}', '') = %(team)s

-- name: {nouns}_in_team
-- Or it belongs to a task of the team.
AND EXISTS (
    SELECT 1 FROM tasks
    WHERE tasks.id = {nouns}.body::json ->> '{task_in}' AND coalesce(tasks.team, '') = %(team)s
)

-- name: {nouns}_in_team
-- Or to several: then all of them must be of the team.
AND NOT EXISTS (
    SELECT 1 FROM json_array_elements_text({nouns}.body::json -> '{tasks_in}') AS its (id)
    WHERE NOT EXISTS (
        SELECT 1 FROM tasks WHERE tasks.id = its.id AND coalesce(tasks.team, '') = %(team)s
    )
)

-- name: {nouns}_in_team
-- Or it says so itself, and if it does not, its task does. Such a noun has the slots of two
-- templates above too, and this one replaces them.
AND coalesce(
    body::json ->> '{team_in}',
    (SELECT tasks.team FROM tasks WHERE tasks.id = {nouns}.body::json ->> '{task_in}'),
    ''
) = %(team)s

-- name: {nouns}_in_order
-- By age if there may be many, otherwise by key.
ORDER BY {order}

-- name: settings
-- Few, by name.
SELECT name, value FROM settings ORDER BY name;

-- name: events
-- The head of every query for events; filters and an order follow.
SELECT seq, body FROM events WHERE seq > %(after)s

-- name: events_before
-- For paging back.
AND seq < %(before)s

-- name: events_of_task
-- For one task.
AND task = %(task)s

-- name: events_of_kinds
-- For readers of only some kinds.
AND kind = ANY (%(kinds)s)

-- name: events_in_team
-- For one team: the events of its tasks, and those that name the team itself.
AND (
    EXISTS (SELECT 1 FROM tasks WHERE tasks.id = events.task AND tasks.team = %(team)s)
    OR (task IS NULL AND body::json -> 'data' ->> 'team' = %(team)s)
)

-- name: events_in_no_team
-- For what no team has: the events of other tasks, and those that name no team.
AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = events.task AND tasks.team IS NOT NULL)
AND (task IS NOT NULL OR body::json -> 'data' ->> 'team' IS NULL)

-- name: first_events
-- From where a reader stopped.
ORDER BY seq LIMIT %(limit)s

-- name: last_events
-- The newest; the caller reverses them.
ORDER BY seq DESC LIMIT %(limit)s

-- name: last_seq
-- Stored apart from the events, so it never decreases.
SELECT seq FROM log;

-- name: is_used
-- An import needs a store without work; the log may have entries.
SELECT EXISTS (SELECT 1 FROM tasks) OR EXISTS (SELECT 1 FROM runs)
    OR EXISTS (SELECT 1 FROM questions) OR EXISTS (SELECT 1 FROM conflicts);

-- name: erase
-- Edges first, because they point at tasks. The last seq stays, and the next event continues from it.
DELETE FROM needs; DELETE FROM texts; DELETE FROM tasks; DELETE FROM runs; DELETE FROM settings;
DELETE FROM events;

-- name: erase_{nouns}
-- With all the rest.
DELETE FROM {nouns};
