"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingField, AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("webhooks", "0009_alarms")]

    operations = [
        AddMissingField("webhookchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddMissingIndex("webhookchange", models.Index(fields=["-at"], name="webhookchange_at")),
    ]
