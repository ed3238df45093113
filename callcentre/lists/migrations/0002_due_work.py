import django.utils.timezone
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("lists", "0001_initial")]
    operations = [
        migrations.AddField(
            "listaction",
            "next_attempt_at",
            models.DateTimeField(db_default=Now(), default=django.utils.timezone.now, editable=False, null=True),
        ),
        migrations.AddField(
            "listexport",
            "next_attempt_at",
            models.DateTimeField(db_default=Now(), default=django.utils.timezone.now, editable=False, null=True),
        ),
    ]
