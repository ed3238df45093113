from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0013_reports_by_queue_and_campaign")]

    operations = [
        migrations.AlterField(
            "schedulechange",
            "schedule",
            models.ForeignKey(
                db_constraint=False,
                on_delete=models.deletion.DO_NOTHING,
                related_name="changes",
                to="reports.schedule",
                verbose_name="scheduled report",
            ),
        ),
    ]
