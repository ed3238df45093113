from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lists", "0003_address_and_unchanged_rows")]

    operations = [
        migrations.AddField("listaction", "search_limit", models.PositiveIntegerField(editable=False, null=True)),
        migrations.AddField("listexport", "search_limit", models.PositiveIntegerField(editable=False, null=True)),
    ]
