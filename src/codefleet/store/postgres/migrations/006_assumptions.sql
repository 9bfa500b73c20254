-- Writers assume what they find, and commit without a look at it first. The server undoes all of a
-- transaction whose writer was wrong; see `is_contested` in trouble.py.
CREATE FUNCTION insist(holds boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION 'codefleet: another writer was first' USING ERRCODE = 'ZF001';
    END IF;
END
$$;

-- Every claim asks whose lease ran out. Runs that have just ended leave traces in an index until
-- they are swept up; here they lie behind those that are asked for.
CREATE INDEX runs_by_lease ON runs (lease_until) WHERE outcome IS NULL;
