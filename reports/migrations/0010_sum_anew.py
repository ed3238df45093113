from django.db import migrations

# The worker sums everything anew in the new table, in the order of the log; reports read the ledgers meanwhile. So they
# do in processes of the release before, whose tables are emptied.
_SUM_ANEW = """
INSERT INTO telephony_ledgerchange (agent_id, since, until)
SELECT agent.id, known.since, now() FROM telephony_agent agent, (
  SELECT LEAST(
    (SELECT min(created_at) FROM telephony_connection), (SELECT min(started_at) FROM telephony_agentsession),
    (SELECT min(started_at) FROM telephony_agentstate), (SELECT min(created_at) FROM tickets_chat),
    (SELECT min(created_at) FROM tickets_ticket)
  ) AS since
) known
WHERE known.since IS NOT NULL;
TRUNCATE reports_rollup, reports_stalerollup;
INSERT INTO reports_rollupprogress (level, until) VALUES (2, now()), (4, now());
"""


class Migration(migrations.Migration):
    dependencies = [("reports", "0009_former_rollups_read_only")]

    operations = [migrations.RunSQL(_SUM_ANEW, "TRUNCATE reports_rollupprogress")]
