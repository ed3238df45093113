from django.db import migrations

# A page of the report where all of its rows are kept ready; a row of nulls where one of them is not. As a function, so
# that its plans are kept with the connection; STABLE, so that all it reads is of one instant.
FUNCTION = """
CREATE FUNCTION reports_ready(
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
    SELECT r.*
    FROM (
      SELECT agent.place, agent.id, key.started_at
      FROM unnest(agents) WITH ORDINALITY AS agent(id, place)
      JOIN reports_rollup key ON key.level = of_level AND key.queue_id = 0 AND key.agent_id = agent.id
      WHERE key.started_at >= begins AND key.started_at < ends
      ORDER BY agent.place, key.started_at LIMIT most OFFSET skipped
    ) shown
    JOIN reports_rollup r
      ON r.level = of_level AND r.queue_id = 0 AND r.agent_id = shown.id AND r.started_at = shown.started_at
    ORDER BY shown.place, shown.started_at;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0002_note_history"),
        ("tickets", "0007_open_tickets_and_senders"),
    ]

    operations = [
        migrations.RunSQL(
            FUNCTION, "DROP FUNCTION reports_ready(integer, bigint[], timestamptz, timestamptz, bigint, bigint)"
        )
    ]
