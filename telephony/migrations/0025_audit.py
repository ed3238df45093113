"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("telephony", "0024_endings_of_numbers")]

    operations = [
        migrations.AddField("transfer", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddIndexConcurrently("transfer", models.Index(fields=["-at"], name="transfer_at")),
    ]
