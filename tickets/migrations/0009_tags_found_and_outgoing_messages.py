import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tickets", "0008_partly_sent")]

    operations = [
        migrations.AlterModelOptions(
            name="dispatch",
            options={
                "ordering": ["-id"],
                "verbose_name": "outgoing message",
                "verbose_name_plural": "outgoing messages",
            },
        ),
        migrations.AlterModelOptions(
            name="receivedmail",
            options={"ordering": ["-id"], "verbose_name": "received mail", "verbose_name_plural": "received mail"},
        ),
        migrations.AddIndex(
            model_name="ticket",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["tags"], condition=models.Q(("tags", []), _negated=True), name="ticket_tags"
            ),
        ),
    ]
