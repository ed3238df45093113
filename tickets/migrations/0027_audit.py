"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingField, AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tickets", "0026_words_and_beginnings")]

    operations = [
        AddMissingField("customerchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddMissingField("ticketchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddMissingIndex("customerchange", models.Index(fields=["-at"], name="customerchange_at")),
        AddMissingIndex("ticketchange", models.Index(fields=["-at"], name="ticketchange_at")),
    ]
