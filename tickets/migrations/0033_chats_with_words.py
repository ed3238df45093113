"""The function that finds chats by words, as `tickets_with_words` finds tickets.

Of a word that almost all messages have, the planner would read the table in place of the index.
"""

from django.db import migrations

FUNCTIONS = """
CREATE OR REPLACE FUNCTION chats_with_words(wanted tsquery, most integer) RETURNS TABLE (chat_id uuid)
LANGUAGE plpgsql STABLE SET gin_fuzzy_search_limit = 2000 SET max_parallel_workers_per_gather = 0
SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY
  (SELECT c.id FROM tickets_chat c WHERE callcentre_words(c.client_name) @@ wanted LIMIT most)
  UNION
  (SELECT m.chat_id FROM tickets_chatmessage m WHERE callcentre_words(m.body) @@ wanted ORDER BY m.id + 0 DESC LIMIT most)
  LIMIT most;
END $$;
CREATE OR REPLACE FUNCTION chats_with_words(wanted tsquery, begun tsquery, most integer) RETURNS TABLE (chat_id uuid)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT found.chat_id FROM chats_with_words(wanted, most) AS found;
  IF NOT FOUND AND begun::text <> wanted::text THEN
    RETURN QUERY SELECT found.chat_id FROM chats_with_words(begun, most) AS found;
  END IF;
END $$;
ALTER FUNCTION tickets_with_words(tsquery, integer) SET enable_seqscan = off;
"""
DROP = """
ALTER FUNCTION tickets_with_words(tsquery, integer) RESET enable_seqscan;
DROP FUNCTION IF EXISTS chats_with_words(tsquery, tsquery, integer);
DROP FUNCTION IF EXISTS chats_with_words(tsquery, integer);
"""


class Migration(migrations.Migration):
    dependencies = [("tickets", "0032_beginnings_of_addresses_and_words_of_chats")]
    operations = [migrations.RunSQL(FUNCTIONS, DROP)]
