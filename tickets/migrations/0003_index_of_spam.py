from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('tickets', '0002_mailboxes'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS receivedmail_spam", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='receivedmail',
            index=models.Index(condition=models.Q(('outcome', 'spam')), fields=['-id'], name='receivedmail_spam'),
        ),
    ]
