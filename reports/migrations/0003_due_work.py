import django.db.models.functions.datetime
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('reports', '0002_drop_former_sums'),
    ]

    operations = [
        migrations.AddField(
            model_name='export',
            name='next_attempt_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), default=django.utils.timezone.now, editable=False, null=True),
        ),
    ]
