from django.db import migrations, models

# As those of 0001: a row that is over is logged when it is written, changed or deleted.
_LOG = """
    INSERT INTO telephony_ledgerchange (agent_id, since, until)
    SELECT agent_id, min(asked_at), max(ended_at) FROM {rows}
    WHERE agent_id IS NOT NULL AND ended_at IS NOT NULL AND up_at IS NOT NULL
    GROUP BY agent_id, date_trunc('day', asked_at);"""
_OF_ROW = "(SELECT {row}.agent_id, {row}.asked_at, {row}.up_at, {row}.ended_at) changed"
_RUN = "EXECUTE FUNCTION reports_log_telephony_consultation()"
TRIGGERS = f"""
CREATE FUNCTION reports_log_telephony_consultation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN{_LOG.format(rows="changed")}
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN{_LOG.format(rows=_OF_ROW.format(row="OLD"))}
  END IF;{_LOG.format(rows=_OF_ROW.format(row="NEW"))}
  RETURN NULL;
END $$;
CREATE TRIGGER reports_log_insert AFTER INSERT ON telephony_consultation FOR EACH ROW
WHEN (NEW.agent_id IS NOT NULL AND NEW.ended_at IS NOT NULL) {_RUN};
CREATE TRIGGER reports_log_delete AFTER DELETE ON telephony_consultation REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT {_RUN};
CREATE TRIGGER reports_log_update AFTER UPDATE ON telephony_consultation FOR EACH ROW WHEN (
  (OLD.agent_id, OLD.asked_at, OLD.up_at, OLD.joined_at, OLD.ended_at)
    IS DISTINCT FROM (NEW.agent_id, NEW.asked_at, NEW.up_at, NEW.joined_at, NEW.ended_at)
  AND (OLD.ended_at IS NOT NULL OR NEW.ended_at IS NOT NULL)
) {_RUN};
"""
_REMOVE = "DROP FUNCTION reports_log_telephony_consultation() CASCADE"


class Migration(migrations.Migration):
    dependencies = [("reports", "0003_due_work"), ("telephony", "0004_consultations")]
    operations = [
        migrations.AddField("rollup", "consultations", models.IntegerField(null=True)),
        migrations.AddField("rollup", "consulting_seconds", models.IntegerField(null=True)),
        migrations.RunSQL(TRIGGERS, _REMOVE),
    ]
