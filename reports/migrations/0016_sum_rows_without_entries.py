from django.db import migrations

# Rows that were written in bulk before the triggers had no entry in the log. The worker sums everything anew, and reports
# read the ledgers meanwhile.
_SUM_ANEW = """
INSERT INTO telephony_ledgerchange (agent_id, since, until)
SELECT agent.id, known.since, now() FROM telephony_agent agent, (
  SELECT min(since) AS since FROM (
    SELECT min(started_at) AS since FROM reports_sums
    UNION ALL SELECT min(started_at) FROM telephony_agentsession
    UNION ALL SELECT min(started_at) FROM telephony_agentstate
    UNION ALL SELECT min(created_at) FROM telephony_connection
    UNION ALL SELECT min(created_at) FROM tickets_chat
    UNION ALL SELECT min(created_at) FROM tickets_message
    UNION ALL SELECT min(closed_at) FROM tickets_ticket
  ) ledger
) known
WHERE known.since IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("reports", "0015_changes_of_ledgers_are_logged")]

    operations = [migrations.RunSQL(_SUM_ANEW, migrations.RunSQL.noop)]
