"""Say since when open tickets wait, and end the response targets that no reply could end.

The page of a ticket by phone, SMS, chat or form told the agent to answer that way and to write down as a comment what was
said. So the last comment of an agent on such a ticket is an answer, unless the customer has written since.
"""

from typing import Any

from django.db import migrations

BATCH = 1000
_BEGIN = """
UPDATE tickets_ticket SET awaiting_since = COALESCE(targets_began_at, created_at)
WHERE id IN (
  SELECT id FROM tickets_ticket
  WHERE closed_at IS NULL AND first_agent_responded_at IS NULL AND awaiting_since IS NULL LIMIT %s FOR UPDATE)
"""
_ANSWERED = """
WITH answered AS (
  SELECT t.id AS ticket_id, said.id AS message_id FROM tickets_ticket t
  CROSS JOIN LATERAL (
    SELECT m.id, m.created_at FROM tickets_message m
    WHERE m.ticket_id = t.id AND m.type = 'COMMENT' AND m.agent_id IS NOT NULL AND m.comment <> ''
      AND m.created_at >= t.awaiting_since
    ORDER BY m.created_at DESC, m.id DESC LIMIT 1
  ) said
  WHERE t.closed_at IS NULL AND t.awaiting_since IS NOT NULL AND t.source IN ('phone', 'sms', 'chat', 'www')
    AND NOT EXISTS (
      SELECT FROM tickets_message m WHERE m.ticket_id = t.id AND m.type = 'MAIL' AND NOT m.is_automatic
        AND m.created_at > said.created_at)
  LIMIT %s FOR UPDATE OF t
), ended AS (
  UPDATE tickets_ticket t SET awaiting_since = NULL,
    response_due_at = CASE WHEN t.first_agent_responded_at IS NULL THEN t.response_due_at END
  FROM answered a WHERE t.id = a.ticket_id
)
UPDATE tickets_message m SET is_answer = true FROM answered a WHERE m.id = a.message_id
"""


def end_answered_targets(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for statement in (_BEGIN, _ANSWERED):
            cursor.execute(statement, [BATCH])
            while cursor.rowcount:
                cursor.execute(statement, [BATCH])


class Migration(migrations.Migration):
    # The lock of a batch ends with it.
    atomic = False
    dependencies = [("tickets", "0030_comments_that_answer")]

    operations = [migrations.RunPython(end_answered_targets, migrations.RunPython.noop)]
