"""Indexes of the beginnings of addresses, in the place of those of whole ones, and of the words of chats.

Writes go on meanwhile. The function finds chats as `tickets_with_words` finds tickets. Of a word that almost all messages
have, the planner would read the table in place of the index.
"""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Upper

from callcentre.core.migration_steps import AddMissingIndex, RemovePresentIndex
from callcentre.core.search import Words

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
    atomic = False
    dependencies = [("tickets", "0031_answered_tickets")]

    operations = [
        AddMissingIndex(
            "customer",
            models.Index(OpClass(Upper("email"), "text_pattern_ops"), condition=~Q(email=""), name="customer_address"),
        ),
        RemovePresentIndex("customer", "customer_email"),
        AddMissingIndex(
            "ticket",
            models.Index(OpClass(Upper("sender"), "text_pattern_ops"), condition=~Q(sender=""), name="ticket_address"),
        ),
        RemovePresentIndex("ticket", "ticket_sender"),
        AddMissingIndex(
            "chat",
            models.Index(
                OpClass(Upper("client_email"), "text_pattern_ops"),
                F("created_at").desc(),
                F("id").desc(),
                condition=~Q(client_email=""),
                name="chat_address",
            ),
        ),
        RemovePresentIndex("chat", "chat_in_timeline"),
        AddMissingIndex(
            "receivedmail",
            models.Index(
                fields=["sender", "received_at"],
                opclasses=["varchar_pattern_ops", "timestamptz_ops"],
                name="receivedmail_address",
            ),
        ),
        RemovePresentIndex("receivedmail", "receivedmail_sender"),
        AddMissingIndex("chat", GinIndex(Words("client_name"), name="chat_words", gin_pending_list_limit=512)),
        AddMissingIndex("chatmessage", GinIndex(Words("body"), name="chatmessage_words", gin_pending_list_limit=512)),
        migrations.RunSQL(FUNCTIONS, DROP),
    ]
