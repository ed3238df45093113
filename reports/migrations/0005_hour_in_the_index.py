from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0004_exports")]

    operations = [
        migrations.RemoveConstraint("rollup", "rollup_is_unique"),
        migrations.AddConstraint(
            "rollup",
            models.UniqueConstraint(
                fields=("level", "queue_id", "agent", "started_at"),
                include=("has_time", "hour"),
                name="rollup_is_unique",
            ),
        ),
    ]
