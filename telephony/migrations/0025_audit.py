"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingField, AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("telephony", "0024_endings_of_numbers")]

    operations = [
        AddMissingField("transfer", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddMissingIndex("transfer", models.Index(fields=["-at"], name="transfer_at")),
    ]
