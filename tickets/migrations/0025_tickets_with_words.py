"""The function that finds tickets by words of their subjects and messages.

A word that most messages have would find a million rows. `gin_fuzzy_search_limit` has the index return about so many of
them, by chance. `+ 0` keeps the planner from reading the rows in the order of their keys.
"""

from django.db import migrations

FUNCTION = """
CREATE FUNCTION tickets_with_words(wanted tsquery, most integer) RETURNS TABLE (ticket_id bigint)
LANGUAGE plpgsql STABLE SET gin_fuzzy_search_limit = 2000 AS $$
BEGIN
  RETURN QUERY
  SELECT found.id FROM (
    (SELECT t.id FROM tickets_ticket t WHERE callcentre_words(t.subject) @@ wanted ORDER BY t.id + 0 DESC LIMIT most)
    UNION
    (SELECT m.ticket_id FROM tickets_message m WHERE callcentre_words(m.body, m.comment) @@ wanted
     ORDER BY m.id + 0 DESC LIMIT most)
  ) AS found ORDER BY found.id DESC LIMIT most;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("tickets", "0024_indexes_of_searches")]
    operations = [migrations.RunSQL(FUNCTION, "DROP FUNCTION tickets_with_words(tsquery, integer);")]
