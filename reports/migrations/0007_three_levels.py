from django.db import migrations, models

# Rollups and marks of other levels, and the function reports_ready, stay for the release before this one, whose
# processes may run during an update (reports.rollups).
LEVELS = [(1, "Hour"), (2, "Day"), (4, "Month")]


class Migration(migrations.Migration):
    dependencies = [("reports", "0006_ready_rows_unsorted")]

    operations = [
        migrations.AlterField(
            "rollup", "level", models.PositiveSmallIntegerField(choices=LEVELS, verbose_name="period")
        ),
        migrations.AlterField("stalerollup", "level", models.PositiveSmallIntegerField(choices=LEVELS)),
    ]
