from django.db import migrations


class Migration(migrations.Migration):
    """Drop what processes of a former release read. A database that 1.0.0 or later has made never had it."""

    dependencies = [("reports", "0001_initial")]
    operations = [
        migrations.RunSQL(
            """
            DROP FUNCTION IF EXISTS reports_ready(integer, bigint[], timestamptz, timestamptz, bigint, bigint);
            DROP TABLE IF EXISTS reports_rollup, reports_stalerollup;
            """,
            migrations.RunSQL.noop,
        )
    ]
