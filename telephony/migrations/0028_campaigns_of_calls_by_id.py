from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("telephony", "0027_recordings_by_day")]

    operations = [
        migrations.AddField("connection", "campaign_id", models.BigIntegerField(null=True, editable=False)),
    ]
