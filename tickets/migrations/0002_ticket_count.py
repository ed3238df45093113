"""Triggers keep the number of tickets, in the transaction that adds or removes tickets."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION tickets_keep_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  difference bigint;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM tickets_ticketcount;
    RETURN NULL;
  ELSIF TG_OP = 'INSERT' THEN
    SELECT count(*) INTO difference FROM changed;
  ELSE
    SELECT -count(*) INTO difference FROM changed;
  END IF;
  IF difference <> 0 THEN
    -- A session always writes to one part. Two sessions that share it wait for each other, but cannot deadlock.
    INSERT INTO tickets_ticketcount AS c (slot, count) VALUES (pg_backend_pid() % 64, difference)
    ON CONFLICT (slot) DO UPDATE SET count = c.count + EXCLUDED.count;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER tickets_count_added AFTER INSERT ON tickets_ticket
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tickets_keep_count();
CREATE TRIGGER tickets_count_removed AFTER DELETE ON tickets_ticket
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tickets_keep_count();
CREATE TRIGGER tickets_count_emptied AFTER TRUNCATE ON tickets_ticket
FOR EACH STATEMENT EXECUTE FUNCTION tickets_keep_count();
"""
BACKWARD = """
DROP TRIGGER tickets_count_added ON tickets_ticket;
DROP TRIGGER tickets_count_removed ON tickets_ticket;
DROP TRIGGER tickets_count_emptied ON tickets_ticket;
DROP FUNCTION tickets_keep_count;
"""


class Migration(migrations.Migration):
    dependencies = [("tickets", "0001_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
