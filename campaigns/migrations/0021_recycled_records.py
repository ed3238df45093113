from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0020_records_by_day")]

    operations = [
        migrations.AddField("recordimport", "recycled", models.JSONField(editable=False, null=True)),
    ]
