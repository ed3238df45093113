"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tickets", "0026_words_and_beginnings")]

    operations = [
        migrations.AddField("customerchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        migrations.AddField("ticketchange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddIndexConcurrently("customerchange", models.Index(fields=["-at"], name="customerchange_at")),
        AddIndexConcurrently("ticketchange", models.Index(fields=["-at"], name="ticketchange_at")),
    ]
