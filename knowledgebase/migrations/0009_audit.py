"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("knowledgebase", "0008_word_forms")]

    operations = [
        migrations.AddField("articlechange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddIndexConcurrently("articlechange", models.Index(fields=["-at"], name="articlechange_at")),
    ]
