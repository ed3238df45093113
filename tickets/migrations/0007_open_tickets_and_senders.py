import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tickets', '0006_admin_indexes'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='ticket',
            index=models.Index(fields=['agent', '-updated_at', '-id'], condition=models.Q(('closed_at', None)), name='ticket_open_of_agent'),
        ),
        migrations.AddIndex(
            model_name='ticket',
            index=models.Index(django.db.models.functions.text.Upper('sender'), condition=models.Q(('sender', ''), _negated=True), name='ticket_sender'),
        ),
    ]
