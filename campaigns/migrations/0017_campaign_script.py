"""The script that agents see with each record of a campaign."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0016_timed_records_by_order")]

    operations = [
        migrations.AddField(
            "campaign",
            "script",
            models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="Agents see it with each record. {city} stands for the value of the field city.",
                verbose_name="script",
            ),
        ),
    ]
