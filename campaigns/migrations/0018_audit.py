"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("campaigns", "0017_campaign_script")]

    operations = [
        migrations.AddField("diallingswitch", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        migrations.AddField("recordchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddIndexConcurrently("recordchange", models.Index(fields=["-at"], name="recordchange_at")),
    ]
