"""The address behind a change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0011_scope")]

    operations = [
        migrations.AddField("schedulechange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
    ]
