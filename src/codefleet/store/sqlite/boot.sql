-- How the steady time of leases follows from the uptime of the current boot; see steady.py.

-- name: began
SELECT began FROM boot WHERE id = :id;

-- name: latest
-- The end of every lease of an earlier boot, and the last heartbeat of its runners.
SELECT max(moment) FROM (
    SELECT max(lease_until) AS moment FROM runs WHERE outcome IS NULL
    UNION ALL
    SELECT max(json_extract(body, '$.lease_until')) FROM lanes
    UNION ALL
    SELECT max(json_extract(body, '$.seen_at')) FROM runners
);

-- name: begin
INSERT INTO boot (place, id, began) VALUES (1, :id, :began)
ON CONFLICT (place) DO UPDATE SET id = excluded.id, began = excluded.began;
