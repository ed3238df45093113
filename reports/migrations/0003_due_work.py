import django.utils.timezone
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("reports", "0002_drop_former_sums")]
    operations = [
        migrations.AddField(
            "export",
            "next_attempt_at",
            models.DateTimeField(db_default=Now(), default=django.utils.timezone.now, editable=False, null=True),
        ),
    ]
