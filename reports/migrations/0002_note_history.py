from django.db import migrations

# What happened before there were rollups is to be summed: the worker finds it in the log.
_NOTE = """
INSERT INTO telephony_ledgerchange (agent_id, since, until)
SELECT agent.id, known.since, now() FROM telephony_agent agent, (
  SELECT LEAST(
    (SELECT min(created_at) FROM telephony_connection), (SELECT min(started_at) FROM telephony_agentsession),
    (SELECT min(started_at) FROM telephony_agentstate), (SELECT min(created_at) FROM tickets_chat),
    (SELECT min(created_at) FROM tickets_ticket)
  ) AS since
) known
WHERE known.since IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0001_initial"),
        ("tickets", "0007_open_tickets_and_senders"),
    ]

    operations = [migrations.RunSQL(_NOTE, migrations.RunSQL.noop)]
