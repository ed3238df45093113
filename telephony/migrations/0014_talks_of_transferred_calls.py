from django.db import migrations

# The legs say how long each agent talked in an outbound call that was transferred before there were talks. The first leg
# is that of the agent who placed the call. A leg that was hung up when it was picked up had no conversation.
_FILL = """
INSERT INTO telephony_talk (connection_id, agent_id, queue_id, counted_at, started_at, ended_at)
SELECT connection_id, agent_id, CASE WHEN place = 1 THEN first_queue_id ELSE queue_id END,
  CASE WHEN place = 1 THEN created_at ELSE started_at END, started_at, GREATEST(ended_at, started_at)
FROM (
  SELECT c.id AS connection_id, c.created_at, c.queue_id, leg.agent_id, leg.id AS leg_id,
    row_number() OVER (PARTITION BY c.id ORDER BY leg.id) AS place,
    (SELECT from_queue_id FROM telephony_transfer WHERE connection_id = c.id ORDER BY id LIMIT 1) AS first_queue_id,
    date_trunc('second', GREATEST(leg.up_at, c.answered_at)) AS started_at,
    LEAST(COALESCE(leg.hangup_asked_at, leg.ended_at), c.ended_at) AS ended_at
  FROM telephony_connection c JOIN telephony_leg leg ON leg.connection_id = c.id
  WHERE c.direction = 'OUTBOUND' AND c.state = 'ended' AND c.answered_at IS NOT NULL AND NOT c.has_talks
    AND EXISTS (SELECT FROM telephony_transfer WHERE connection_id = c.id AND action = 'transfer')
    AND leg.agent_id IS NOT NULL AND leg.up_at IS NOT NULL
    AND (leg.hangup_asked_at IS NULL OR leg.hangup_asked_at > leg.up_at)
) part
ORDER BY leg_id
"""
_MARK = """
WITH marked AS (
  UPDATE telephony_connection SET has_talks = true
  WHERE NOT has_talks AND id IN (SELECT connection_id FROM telephony_talk)
  RETURNING id, agent_id, created_at, ended_at
)
INSERT INTO telephony_ledgerchange (agent_id, since, until)
SELECT agent_id, created_at, ended_at FROM marked WHERE agent_id IS NOT NULL
UNION
SELECT t.agent_id, t.counted_at, t.ended_at FROM marked m JOIN telephony_talk t ON t.connection_id = m.id
"""


class Migration(migrations.Migration):
    dependencies = [("telephony", "0013_talks")]

    operations = [migrations.RunSQL([_FILL, _MARK], migrations.RunSQL.noop)]
