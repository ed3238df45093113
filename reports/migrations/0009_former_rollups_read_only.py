from django.db import migrations

# A worker of the release before would take entries from the log, and sum them in its own tables alone. Its transactions
# fail instead. Its processes go on reading these tables.
FORMER = ("reports_rollup", "reports_stalerollup")


class Migration(migrations.Migration):
    dependencies = [("reports", "0008_narrow_rollups")]

    operations = [
        migrations.RunSQL(
            [f"ALTER TABLE {table} ADD CONSTRAINT {table}_is_read_only CHECK (false) NOT VALID" for table in FORMER],
            [f"ALTER TABLE {table} DROP CONSTRAINT {table}_is_read_only" for table in FORMER],
        )
    ]
