"""Search for words before beginnings of words, and in one process.

The index reads all messages with a beginning, with any limit. Two helpers of a parallel plan take ten times the
time of the search itself.
"""

from django.db import migrations

FUNCTION = """
ALTER FUNCTION tickets_with_words(tsquery, integer) SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION tickets_with_words(wanted tsquery, begun tsquery, most integer) RETURNS TABLE (ticket_id bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT found.ticket_id FROM tickets_with_words(wanted, most) AS found;
  IF NOT FOUND AND begun::text <> wanted::text THEN
    RETURN QUERY SELECT found.ticket_id FROM tickets_with_words(begun, most) AS found;
  END IF;
END $$;
"""
FORMER = """
DROP FUNCTION tickets_with_words(tsquery, tsquery, integer);
ALTER FUNCTION tickets_with_words(tsquery, integer) RESET max_parallel_workers_per_gather;
"""


class Migration(migrations.Migration):
    dependencies = [("tickets", "0025_tickets_with_words")]
    operations = [migrations.RunSQL(FUNCTION, FORMER)]
