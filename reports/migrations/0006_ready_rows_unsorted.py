from importlib import import_module

from django.db import migrations

before = import_module("reports.migrations.0003_ready_rows")

FUNCTION = """
CREATE OR REPLACE FUNCTION reports_ready(
  of_level integer, agents bigint[], begins timestamptz, ends timestamptz, most bigint, skipped bigint)
RETURNS SETOF reports_rollup
LANGUAGE plpgsql STABLE ROWS 100
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  IF EXISTS (SELECT FROM telephony_ledgerchange WHERE agent_id = ANY(agents) AND since < ends AND until >= begins)
    OR EXISTS (
      SELECT FROM reports_stalerollup
      WHERE agent_id = ANY(agents) AND level = of_level AND started_at >= begins AND started_at < ends
    )
    -- What goes on no row has.
    OR EXISTS (
      SELECT FROM telephony_agentsession WHERE ended_at IS NULL AND agent_id = ANY(agents) AND started_at < ends
    )
    OR EXISTS (
      SELECT FROM telephony_agentstate
      WHERE ended_at IS NULL AND agent_id = ANY(agents) AND started_at < ends AND kind IN ('free', 'paused', 'wrap_up')
    )
    OR EXISTS (
      SELECT FROM telephony_offer WHERE ended_at IS NULL AND agent_id = ANY(agents) AND offered_at < ends
    )
    OR EXISTS (
      SELECT FROM telephony_connection
      WHERE state <> 'ended' AND direction = 'OUTBOUND' AND agent_id = ANY(agents) AND created_at < ends
    )
  THEN
    RETURN NEXT NULL;
    RETURN;
  END IF;
  RETURN QUERY
    -- Of each agent of the page, from his first row in it to his last. What is passed over is not sorted, which took
    -- half of the time: LIMIT and OFFSET rely on LATERAL being a loop over the agents in the order of the array, in
    -- which each agent's rows are in the order that is said inside. Whatever is found is sorted at the end.
    SELECT r.*
    FROM (
      SELECT key.place, key.id, min(key.started_at) AS first, max(key.started_at) AS last
      FROM (
        SELECT agent.place, agent.id, rollup.started_at
        FROM unnest(agents) WITH ORDINALITY AS agent(id, place)
        CROSS JOIN LATERAL (
          SELECT started_at FROM reports_rollup
          WHERE level = of_level AND queue_id = 0 AND agent_id = agent.id AND started_at >= begins AND started_at < ends
          ORDER BY started_at
        ) rollup
        LIMIT most OFFSET skipped
      ) key
      GROUP BY key.place, key.id
    ) shown
    JOIN reports_rollup r ON r.level = of_level AND r.queue_id = 0 AND r.agent_id = shown.id
      AND r.started_at >= shown.first AND r.started_at <= shown.last
    ORDER BY shown.place, r.started_at;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("reports", "0005_hour_in_the_index")]

    operations = [
        migrations.RunSQL(FUNCTION, before.FUNCTION.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    ]
