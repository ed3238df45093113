"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingField, AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("campaigns", "0017_campaign_script")]

    operations = [
        AddMissingField("diallingswitch", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddMissingField("recordchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddMissingIndex("recordchange", models.Index(fields=["-at"], name="recordchange_at")),
    ]
