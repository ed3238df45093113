"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("webhooks", "0009_alarms")]

    operations = [
        migrations.AddField("webhookchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddIndexConcurrently("webhookchange", models.Index(fields=["-at"], name="webhookchange_at")),
    ]
