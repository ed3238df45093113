"""The address behind a change, and an index for the audit log. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingField, AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("knowledgebase", "0008_word_forms")]

    operations = [
        AddMissingField("articlechange", "actor_address", models.GenericIPAddressField(null=True, verbose_name="address")),
        AddMissingIndex("articlechange", models.Index(fields=["-at"], name="articlechange_at")),
    ]
