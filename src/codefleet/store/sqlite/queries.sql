-- Every statement the store sends, by name. Some are joined to others (a filter begins with AND, an
-- order with ORDER BY), but all text is from this file; values are parameters.

-- name: add_task
-- The caller has checked that the id is free; `unmet` counts the needs that are not completed.
INSERT INTO tasks (
    id, unmet, state, priority, paused, approved, not_before, resting_since, repo, coder,
    assignee, scoped, fence, version, needs, body, parent, team, worker, swarm
) VALUES (
    :id, :unmet, :state, :priority, :paused, :approved, :not_before, :resting_since, :repo, :coder,
    :assignee, :scoped, :fence, :version, :needs, :body, :parent, :team, :worker, :swarm
);

-- name: put_text
-- The words that tasks are found by. Rarely written, so that claims do not pay for searches. Many at
-- once, because the index of words is flushed at the end of each statement.
INSERT INTO texts (place, mark, words)
SELECT task.place, json_extract(text.value, '$.mark'), json_extract(text.value, '$.words')
FROM json_each(:texts) AS text CROSS JOIN tasks AS task
WHERE task.id = json_extract(text.value, '$.id')
ON CONFLICT (place) DO UPDATE SET mark = excluded.mark, words = excluded.words
WHERE mark <> excluded.mark;

-- name: save_task
-- No row changes if someone else was first, if the writer's fence is not the stored one, or if needs
-- or words differ: then edges or texts must change too. A completed task stays completed, because
-- others depend on it.
UPDATE tasks SET state = :state, priority = :priority, paused = :paused, approved = :approved,
    not_before = :not_before, resting_since = :resting_since, repo = :repo, coder = :coder,
    assignee = :assignee, scoped = :scoped, fence = :fence, version = :version, body = :body,
    team = :team, worker = :worker, swarm = :swarm
WHERE id = :id AND version = :version - 1 AND needs = :needs AND fence = coalesce(:held, fence)
    AND (state <> 'completed' OR :state = 'completed')
    AND (:mark IS NULL OR (SELECT mark FROM texts WHERE texts.place = tasks.place) = :mark);

-- name: set_needs
-- The rest of the row is saved by the statement above.
UPDATE tasks SET needs = :needs WHERE id = :id;

-- name: unblock
-- Runs before the task is saved as completed, so that saving it twice unblocks only once.
UPDATE tasks SET unmet = unmet - 1
WHERE id IN (SELECT task FROM needs WHERE need = :id)
    AND (SELECT state FROM tasks WHERE id = :id) <> 'completed';

-- name: fence_of
-- Guards every write by a holder that saves no task, and explains why one was not saved.
SELECT fence FROM tasks WHERE id = :id;

-- name: states_of
-- One query answers three questions about a batch: what is taken, what is missing, what is met.
SELECT id, state FROM tasks WHERE id IN (SELECT value FROM json_each(:ids));

-- name: live_workers
-- The unfinished tasks that already have some of these handles.
SELECT worker, id FROM tasks
WHERE worker IN (SELECT value FROM json_each(:workers))
    AND state IN ('pending', 'running', 'asking', 'review');

-- name: add_need
-- An edge from a task to what it needs.
INSERT INTO needs (task, need) VALUES (:task, :need);

-- name: drop_needs
-- A task's needs are replaced as a whole.
DELETE FROM needs WHERE task = :task;

-- name: recount
-- After a task's needs changed.
UPDATE tasks SET unmet = (
    SELECT count(*) FROM needs JOIN tasks AS need ON need.id = needs.need
    WHERE needs.task = tasks.id AND need.state <> 'completed'
) WHERE id = :id;

-- name: needs_above
-- The part of the graph in which a changed need could close a cycle.
WITH RECURSIVE above (id) AS (
    SELECT value FROM json_each(:ids)
    UNION
    SELECT needs.need FROM needs JOIN above ON needs.task = above.id
)
SELECT needs.task, needs.need FROM needs JOIN above ON needs.task = above.id;

-- name: add_run
-- A second live run of a task is refused by an index.
INSERT INTO runs (id, task, outcome, lease_until, version, body)
VALUES (:id, :task, :outcome, :lease_until, :version, :body);

-- name: save_run
-- No row changes if someone else was first.
UPDATE runs SET outcome = :outcome, lease_until = :lease_until, version = :version, body = :body
WHERE id = :id AND version = :version - 1;

-- name: add_{noun}
-- A record added twice is stored once. From here to the settings: a statement for each record of
-- nouns.py.
INSERT INTO {nouns} (id, body) VALUES (:id, :body) ON CONFLICT DO NOTHING;

-- name: save_{noun}
-- No row changes if someone else was first.
UPDATE {nouns} SET body = :body WHERE id = :id AND version = :version - 1;

-- name: remove_{noun}
-- Whatever its version.
DELETE FROM {nouns} WHERE id = :id;

-- name: set_setting
-- The last write wins.
INSERT INTO settings (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: drop_setting
-- A missing setting has its default.
DELETE FROM settings WHERE name = :name;

-- name: add_event
-- Writers take turns, so seqs become visible in the order in which they are assigned.
INSERT INTO events (task, kind, body) VALUES (:task, :kind, :body);

-- name: add_event_at
-- An imported event keeps its seq, above all that this store has assigned before.
INSERT INTO events (seq, task, kind, body) VALUES (:seq, :task, :kind, :body);

-- name: forget_event
-- The newest stays, because the next seq is one above it; so do the events that bills are computed
-- from.
DELETE FROM events
WHERE seq = :seq AND task = :task AND kind = :kind AND kind <> 'run.used'
    AND seq < (SELECT max(seq) FROM events)
    AND EXISTS (
        SELECT 1 FROM tasks WHERE id = :task AND state IN ('completed', 'failed', 'cancelled')
    );

-- name: some_expired
-- A cheap check before the expensive one: mostly no lease has expired.
SELECT 1 FROM runs INDEXED BY runs_live WHERE outcome IS NULL AND lease_until <= :steady LIMIT 1;

-- name: expired
-- Tasks whose holder went away, so that their leases expired. They come before all others.
SELECT task.body, run.body
FROM runs AS run INDEXED BY runs_live JOIN tasks AS task ON task.id = run.task
WHERE run.outcome IS NULL AND run.lease_until <= :steady AND task.state = 'running' AND NOT task.paused

-- name: ready
-- A task that was cancelled and retried waits until its earlier run has ended or expired.
-- Named index: otherwise the planner sorts every pending task instead of reading them in order.
SELECT task.body, run.body
FROM tasks AS task INDEXED BY tasks_ready
LEFT JOIN runs AS run ON run.task = task.id AND run.outcome IS NULL
WHERE task.state = 'pending' AND task.unmet = 0 AND task.paused = 0
    AND (task.not_before IS NULL OR task.not_before <= :now OR task.resting_since > :now)
    AND (run.id IS NULL OR run.lease_until <= :steady)

-- name: ready_among
-- The same for a claim limited to certain tasks: found by id, however long the queue is.
-- The plus keeps the planner from using the indexes of pending tasks.
SELECT task.body, run.body
FROM tasks AS task
LEFT JOIN runs AS run ON run.task = task.id AND run.outcome IS NULL
WHERE +task.state = 'pending' AND task.unmet = 0 AND task.paused = 0
    AND (task.not_before IS NULL OR task.not_before <= :now OR task.resting_since > :now)
    AND (run.id IS NULL OR run.lease_until <= :steady)

-- name: unless_paused
-- While the whole fleet is paused, nothing starts.
AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'paused')

-- name: for_seats
-- A task with an assignee goes only to that seat.
AND (task.assignee IS NULL OR task.assignee IN (SELECT value FROM json_each(:seats)))

-- name: for_coders
-- A task that names no coder is for any.
AND (task.coder IS NULL OR task.coder IN (SELECT value FROM json_each(:coders)))

-- name: for_repos
-- A runner may serve only some repos.
AND task.repo IN (SELECT value FROM json_each(:repos))

-- name: for_labels
-- A task must have every requested label.
AND NOT EXISTS (
    SELECT 1 FROM json_each(:labels) AS wanted
    WHERE wanted.value NOT IN (SELECT value FROM json_each(task.body, '$.labels'))
)

-- name: unless_resting
-- A task whose coder rests in its repo waits; one that names no coder counts for the default.
AND task.repo || ' ' || coalesce(task.coder, '') NOT IN (SELECT value FROM json_each(:resting))

-- name: unless_full
-- Nothing starts where a cap is reached.
AND task.repo NOT IN (SELECT value FROM json_each(:full_repos))
AND coalesce(nullif(task.coder, ''), :coder) NOT IN (SELECT value FROM json_each(:full_coders))

-- name: unless_swarm_is_full
-- A task of a swarm starts only while that swarm has places left, and never after it was killed.
AND (task.swarm IS NULL OR task.swarm IN (SELECT value FROM json_each(:open_swarms)))

-- name: for_tasks
-- A runner may serve only certain tasks.
AND task.id IN (SELECT value FROM json_each(:tasks))

-- name: busy
-- What holds files: what runs now, and what is about to land. A task started in between would start
-- from a trunk without that work and collide with it.
SELECT task.body FROM tasks AS task INDEXED BY tasks_by_state
LEFT JOIN runs AS run ON run.task = task.id AND run.outcome IS NULL
WHERE task.state IN ('running', 'review') AND task.scoped
    AND (run.lease_until > :steady OR (task.state = 'review' AND task.approved));

-- name: at_work
-- What counts towards caps. A run whose lease expired waits to be claimed itself.
SELECT task.repo, json_extract(run.body, '$.host'), json_extract(run.body, '$.coder')
FROM runs AS run INDEXED BY runs_live JOIN tasks AS task ON task.id = run.task
WHERE run.outcome IS NULL AND run.lease_until > :steady;

-- name: swarm_places
-- How many more agents each swarm may have at work; counted like those under caps.
SELECT swarm.id, json_extract(swarm.body, '$.max_agents') - (
    SELECT count(*) FROM runs AS run INDEXED BY runs_live JOIN tasks AS task ON task.id = run.task
    WHERE run.outcome IS NULL AND run.lease_until > :steady AND task.swarm = swarm.id
)
FROM swarms AS swarm WHERE swarm.killed_at IS NULL;

-- name: next_start
-- When time alone changes what may be claimed: a rest or a lease ends.
SELECT (
    SELECT min(not_before) FROM tasks INDEXED BY tasks_resting
    WHERE state = 'pending' AND unmet = 0 AND paused = 0 AND not_before > :now
        AND coalesce(resting_since <= :now, TRUE)
), (
    SELECT min(lease_until) FROM runs INDEXED BY runs_live
    WHERE outcome IS NULL AND lease_until > :steady
);

-- name: tasks
-- The head of every query for tasks; filters, an order and the same order again follow. Choose
-- first and then read, so that tasks that are only sorted are not read from the table.
SELECT task.body FROM tasks AS task
WHERE task.place IN (SELECT task.place FROM tasks AS task WHERE TRUE

-- name: ready_tasks
-- The same head for those that are ready. Named index: otherwise the planner sorts them all.
SELECT task.body FROM tasks AS task
WHERE task.place IN (SELECT task.place FROM tasks AS task INDEXED BY tasks_ready WHERE TRUE

-- name: found_tasks
-- The head of a search for tasks that have all of some words. Only the index of words helps: the
-- planner would otherwise scan all tasks in order.
SELECT task.body FROM tasks AS task
WHERE task.place IN (SELECT task.place FROM tasks AS task NOT INDEXED WHERE task.place IN (
    SELECT texts.place FROM texts
    WHERE NOT EXISTS (SELECT 1 FROM json_each(:words) WHERE instr(texts.words, value) = 0)

-- name: by_rarest
-- The rarest word finds the texts, and the others are searched in them: joining two long lists would
-- take longer. The few texts that are not in the index yet are searched too.
AND texts.place IN (
    SELECT rowid FROM texts_by_word WHERE texts_by_word MATCH :rarest
    UNION ALL
    SELECT place FROM texts WHERE place > (SELECT upto FROM texts_indexed)
)

-- name: that_fit
-- The filters of other queries follow.
)

-- name: look_through
-- The head of a look at single tasks: which of the words each has, and whether it passes the
-- filters, which follow; then which tasks.
SELECT task.id,
    (SELECT group_concat(instr(texts.words, value) > 0, '') FROM texts CROSS JOIN json_each(:words)
    WHERE texts.place = task.place),
    (TRUE

-- name: the_most_urgent
-- The first of up to seven states, each in the order of an index: written this way, they are merged
-- as they are read.
) FROM (
    SELECT priority, place FROM tasks WHERE state = json_extract(:among, '$[0]')
    UNION ALL
    SELECT priority, place FROM tasks WHERE state = json_extract(:among, '$[1]')
    UNION ALL
    SELECT priority, place FROM tasks WHERE state = json_extract(:among, '$[2]')
    UNION ALL
    SELECT priority, place FROM tasks WHERE state = json_extract(:among, '$[3]')
    UNION ALL
    SELECT priority, place FROM tasks WHERE state = json_extract(:among, '$[4]')
    UNION ALL
    SELECT priority, place FROM tasks WHERE state = json_extract(:among, '$[5]')
    UNION ALL
    SELECT priority, place FROM tasks WHERE state = json_extract(:among, '$[6]')
    ORDER BY priority DESC, place LIMIT :looked
) AS first CROSS JOIN tasks AS task ON task.place = first.place
ORDER BY task.priority DESC, task.place

-- name: the_newest
-- The last ones added, of any state.
) FROM (SELECT place FROM tasks ORDER BY place DESC LIMIT :looked) AS first
CROSS JOIN tasks AS task ON task.place = first.place
ORDER BY task.place DESC

-- name: with_ids
-- For tasks named by their ids.
AND task.id IN (SELECT value FROM json_each(:ids))

-- name: with_parents
-- For the tasks that agents of these tasks created.
AND task.parent IN (SELECT value FROM json_each(:parents))

-- name: with_handle
-- For the tasks of a worker, of whatever team: its name continues with a slash, which `0` follows.
AND task.worker >= :handle || '/' AND task.worker < :handle || '0'

-- name: that_are_workers
-- For tasks that have a handle.
AND task.worker IS NOT NULL

-- name: in_swarm
-- For the tasks of a swarm.
AND task.swarm = :swarm

-- name: in_state
-- For tasks in one state, for which an index has this order.
AND task.state = :state

-- name: in_states
-- For tasks in any of some states.
AND task.state IN (SELECT value FROM json_each(:states))

-- name: in_repo
-- For tasks of one repo.
AND task.repo = :repo

-- name: with_label
-- For tasks with a label.
AND :label IN (SELECT value FROM json_each(task.body, '$.labels'))

-- name: in_team
-- For tasks of one team.
AND task.team = :team

-- name: in_no_team
-- For tasks without one.
AND task.team IS NULL

-- name: that_are_ready
-- For tasks that wait only for a free seat or for another's scope.
AND task.state = 'pending' AND task.unmet = 0 AND task.paused = 0
AND (task.not_before IS NULL OR task.not_before <= :now OR task.resting_since > :now)

-- name: less_urgent_than
-- The rest of a list in the order of urgency, after a task that a reader has seen.
AND (-task.priority, task.place) > (SELECT -priority, place FROM tasks WHERE id = :after)

-- name: older_than
-- The same in the order of age, newest first.
AND task.place < (SELECT place FROM tasks WHERE id = :after)

-- name: most_urgent_first
-- Urgency is priority, then age. No limit is written as -1.
ORDER BY task.priority DESC, task.place LIMIT coalesce(:limit, -1)

-- name: chosen_by_urgency
-- The end of a query for tasks.
) ORDER BY task.priority DESC, task.place

-- name: chosen_by_age
-- The end of a query for tasks, the newest first.
) ORDER BY task.place DESC

-- name: newest_first
-- For people who look for what they just added.
ORDER BY task.place DESC LIMIT coalesce(:limit, -1)

-- name: all_tasks
-- For an export, in the order of age, so that an import keeps it.
SELECT task.body FROM tasks AS task ORDER BY task.place;

-- name: unmet
-- What some tasks still wait for.
SELECT needs.task, task.body FROM needs JOIN tasks AS task ON task.id = needs.need
WHERE needs.task IN (SELECT value FROM json_each(:ids)) AND task.state <> 'completed'
    AND (:team IS NULL OR coalesce(task.team, '') = :team)
ORDER BY needs.task, task.place;

-- name: needed_by
-- The tasks that wait for one.
SELECT task FROM needs
WHERE need = :id
    AND (:team IS NULL OR EXISTS (
        SELECT 1 FROM tasks WHERE id = needs.task AND coalesce(team, '') = :team
    ))
ORDER BY task;

-- name: matching
-- A range and not LIKE, so that the index is used and no character of a prefix is special.
SELECT id FROM tasks
WHERE id >= :prefix AND id < :end AND (:team IS NULL OR coalesce(team, '') = :team)
ORDER BY id LIMIT 3;

-- name: counts
-- Maintained by triggers, to avoid counting the tasks.
SELECT CASE WHEN state = 'pending' AND blocked THEN 'blocked' ELSE state END, sum(many)
FROM tallies WHERE many > 0 AND (:team IS NULL OR team = :team) GROUP BY 1;

-- name: runs
-- The head of every query for runs; filters and an order follow.
SELECT body FROM runs WHERE TRUE

-- name: runs_with_ids
-- For runs named by their ids.
AND id IN (SELECT value FROM json_each(:ids))

-- name: runs_of_tasks
-- For all attempts at some tasks. A run's id is its task's, a dot (which `/` follows) and a number.
AND place IN (
    SELECT run.place FROM json_each(:tasks) AS wanted
    JOIN runs AS run ON run.id > wanted.value || '.' AND run.id < wanted.value || '/'
    WHERE run.task = wanted.value
)

-- name: runs_that_live
-- A run without an outcome has not ended.
AND outcome IS NULL

-- name: runs_during
-- For what was at work in a period.
AND json_extract(body, '$.started_at') < :until
AND coalesce(json_extract(body, '$.ended_at'), '9999') >= :since

-- name: runs_in_team
-- For runs of one team's tasks.
AND EXISTS (
    SELECT 1 FROM tasks WHERE tasks.id = runs.task AND coalesce(tasks.team, '') = :team
)

-- name: oldest_run_first
-- The order in which they started. The plus keeps the planner from scanning every run.
ORDER BY +place

-- name: spent
-- A bill, grouped only by what was asked for. An index has just these events, by time.
-- `total` because `sum` can overflow: an agent may report any number any number of times.
SELECT CASE WHEN :by_day THEN substr(json_extract(body, '$.at'), 1, 10) ELSE '' END,
    CASE WHEN :by_coder THEN coalesce(json_extract(body, '$.data.coder'), '') ELSE '' END,
    CASE WHEN :by_model THEN coalesce(json_extract(body, '$.data.model'), '') ELSE '' END,
    CASE WHEN :by_repo THEN coalesce(json_extract(body, '$.data.repo'), '') ELSE '' END,
    CASE WHEN :by_task THEN coalesce(task, '') ELSE '' END,
    CASE WHEN :by_source THEN coalesce(json_extract(body, '$.data.source'), '') ELSE '' END,
    CAST(min(total(json_extract(body, '$.data.input_tokens')), 9007199254740991) AS INTEGER),
    CAST(min(total(json_extract(body, '$.data.output_tokens')), 9007199254740991) AS INTEGER),
    CAST(min(total(json_extract(body, '$.data.cached_tokens')), 9007199254740991) AS INTEGER),
    coalesce(sum(json_extract(body, '$.data.cost_usd')), 0.0)
FROM events INDEXED BY events_used
WHERE kind = 'run.used' AND json_extract(body, '$.at') >= :since
    AND json_extract(body, '$.at') < coalesce(:until, '9999')
    AND (:team IS NULL OR EXISTS (
        SELECT 1 FROM tasks
        WHERE tasks.id = events.task AND coalesce(tasks.team, '') = :team
    ))
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6;

-- name: {nouns}
-- The head of every query for records; filters and an order follow.
SELECT body FROM {nouns} WHERE TRUE

-- name: {nouns}_with_ids
-- For records named by their keys.
AND id IN (SELECT value FROM json_each(:ids))

-- name: {nouns}_of_tasks
-- For those that belong to some tasks.
AND {task} IN (SELECT value FROM json_each(:tasks))

-- name: {nouns}_of
-- For those that belong to some swarms, handles or repos.
AND {owner} IN (SELECT value FROM json_each(:of))

-- name: {nouns}_that_are_open
-- What nobody has dealt with yet.
AND {closed} IS NULL

-- name: {nouns}_since
-- From a given time on.
AND {began} >= :since

-- name: {nouns}_in_team
-- Each noun has at most one of these ways to belong to a team. This one says so itself.
AND coalesce(json_extract(body, '$.{team_in}'), '') = :team

-- name: {nouns}_in_team
-- Or it belongs to a task of the team.
AND EXISTS (
    SELECT 1 FROM tasks
    WHERE tasks.id = json_extract({nouns}.body, '$.{task_in}')
        AND coalesce(tasks.team, '') = :team
)

-- name: {nouns}_in_team
-- Or to several: then all of them must be of the team.
AND NOT EXISTS (
    SELECT 1 FROM json_each({nouns}.body, '$.{tasks_in}') AS its
    WHERE NOT EXISTS (
        SELECT 1 FROM tasks WHERE tasks.id = its.value AND coalesce(tasks.team, '') = :team
    )
)

-- name: {nouns}_in_team
-- Or it says so itself, and if it does not, its task does. Such a noun has the slots of two
-- templates above too, and this one replaces them.
AND coalesce(
    json_extract(body, '$.{team_in}'),
    (SELECT tasks.team FROM tasks WHERE tasks.id = json_extract({nouns}.body, '$.{task_in}')),
    ''
) = :team

-- name: {nouns}_in_order
-- By age if there may be many, otherwise by key.
ORDER BY {order}

-- name: settings
-- Few, by name.
SELECT name, value FROM settings ORDER BY name;

-- name: events
-- The head of every query for events; filters and an order follow.
SELECT seq, body FROM events WHERE seq > :after

-- name: events_before
-- For paging back.
AND seq < :before

-- name: events_of_task
-- For one task.
AND task = :task

-- name: events_of_kinds
-- For readers of only some kinds.
AND kind IN (SELECT value FROM json_each(:kinds))

-- name: events_in_team
-- For one team: the events of its tasks, and those that name the team itself.
AND (
    EXISTS (SELECT 1 FROM tasks WHERE tasks.id = events.task AND tasks.team = :team)
    OR (task IS NULL AND json_extract(body, '$.data.team') = :team)
)

-- name: events_in_no_team
-- For what no team has: the events of other tasks, and those that name no team.
AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = events.task AND tasks.team IS NOT NULL)
AND (task IS NOT NULL OR json_extract(body, '$.data.team') IS NULL)

-- name: first_events
-- From where a reader stopped.
ORDER BY seq LIMIT :limit

-- name: last_events
-- The newest; the caller reverses them.
ORDER BY seq DESC LIMIT :limit

-- name: last_seq
-- The newest event is never deleted, so this number never decreases.
SELECT coalesce(max(seq), 0) FROM events;

-- name: is_used
-- An import needs a store without work; the log may have entries.
SELECT EXISTS (SELECT 1 FROM tasks) OR EXISTS (SELECT 1 FROM runs)
    OR EXISTS (SELECT 1 FROM questions) OR EXISTS (SELECT 1 FROM conflicts);

-- name: erase
-- Edges first, because they point at tasks. The newest event stays: the next seq is one above it.
DELETE FROM needs; DELETE FROM texts; DELETE FROM tasks; DELETE FROM runs; DELETE FROM settings;
DELETE FROM events WHERE seq < (SELECT max(seq) FROM events);

-- name: erase_{nouns}
-- With all the rest.
DELETE FROM {nouns};
